"""A stream's schema versions, and the one type that holds the records of all of them.

The manifest knows the versions by their hashes. The schemas themselves are in the catalogue, for
the newest, and in the first line of every file.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from singerlake.decode.request import StreamRequest
from singerlake.errors import ConfigError
from singerlake.format import json_schema
from singerlake.format import record_type as types
from singerlake.format.record_type import Type
from singerlake.format.schema import Schema
from singerlake.lake.schemas import hashes, in_use, listed, registered
from singerlake.lake.schemas import schemas as stored_schemas
from singerlake.lake.snapshot import Snapshot

log = logging.getLogger("singerlake.decode")


@dataclass(frozen=True)
class Conflict:
    """A column, or a part of one, that versions declare in ways that no one type holds.

    `declared` has the type in each version that has the column, by schema hash.
    """

    column: str
    declared: Mapping[str, str]
    merged: str


@dataclass(frozen=True)
class MergedSchema:
    """The record type of a stream: every column of every chosen version, all nullable.

    `key_properties` are those that the tap sent last.
    """

    record: Type
    hashes: tuple[str, ...]
    key_properties: tuple[str, ...]
    conflicts: tuple[Conflict, ...] = ()


def merge(
    schemas: Mapping[str, Schema],
    numbers: types.Numbers = "double",
    last: str | None = None,
    exact: Collection[str] = (),
) -> MergedSchema:
    """Merge versions, given by hash from the oldest to the newest; `last` was sent last.

    Key properties, and the columns that `exact` names, hold no doubles.
    """
    keys = {key for schema in schemas.values() for key in schema.key_properties}
    records = {
        hashed: _record(schema, numbers, keys.union(exact)) for hashed, schema in schemas.items()
    }
    paths: list[str] = []
    merged = types.union([types.struct({}), *records.values()], paths)
    conflicts = []
    for path in dict.fromkeys(paths):
        declared = {hashed: _at(record, path) for hashed, record in records.items()}
        told = {hashed: str(kind) for hashed, kind in declared.items() if kind is not None}
        conflicts.append(Conflict(path, told, str(_at(merged, path) or types.JSON)))
    newest = schemas.get(last or "") or next(reversed(list(schemas.values())), Schema({}))
    return MergedSchema(merged, tuple(schemas), tuple(newest.key_properties), tuple(conflicts))


def _record(schema: Schema, numbers: types.Numbers, exact: Collection[str]) -> Type:
    found = json_schema.of(schema.schema, numbers, is_record=True)
    return types.struct(
        {name: types.exact(kind) if name in exact else kind for name, kind in found.fields}
    )


def _at(record: Type, path: str) -> Type | None:
    """The type at a conflict's path: names joined by dots, `[]` and `{}` for what is inside."""
    for name, kind in record.fields:
        rest = path[len(name) :]
        if not path.startswith(name) or (rest and rest[0] not in ".[{"):
            continue
        inner: Type | None = kind
        while rest[:2] in ("[]", "{}") and inner is not None:
            inner, rest = inner.items, rest[2:]
        if not rest:
            return inner
        found = None if inner is None else _at(inner, rest[1:])
        if found is not None:
            return found
    return None


def chosen(stream: Snapshot, request: StreamRequest) -> dict[str, Schema]:
    """The schemas of the versions that the request chooses, from the oldest to the newest.

    Raises `ConfigError` for a version that the stream does not have.
    """
    wanted = chosen_hashes(stream, request)
    found = _find(stream, wanted)
    return {hashed: found[hashed] for hashed in wanted if hashed in found} or registered(stream)


def chosen_hashes(stream: Snapshot, request: StreamRequest) -> list[str]:
    """The versions that the request chooses, from the oldest to the newest.

    A read that ends at a number has the versions that were in use up to there: a column that came
    later is none of its.
    """
    until = request.selection.until
    if request.schema_versions == "all":
        return hashes(stream, until)
    if request.schema_versions == "latest":
        newest = in_use(stream, until)
        return [newest] if newest else hashes(stream, until)[-1:]
    known = hashes(stream)
    unknown = sorted(set(request.schema_versions) - set(known))
    if unknown:
        raise ConfigError(
            f"stream {request.stream!r} of {request.tap!r} has no schema version "
            f"{', '.join(unknown)}; it has {listed(stream)}"
        )
    return [hashed for hashed in known if hashed in request.schema_versions]


def _find(stream: Snapshot, wanted: Sequence[str]) -> dict[str, Schema]:
    """Look in the catalogue, then in one file of each version that is not there."""
    found = stored_schemas(stream, wanted)
    missing = set(wanted) - found.keys()
    if missing:
        log.info("no file tells the schema versions %s any more", ", ".join(sorted(missing)))
    return found


def merged_of(stream: Snapshot, request: StreamRequest) -> MergedSchema:
    """The merged schema of a stream."""
    last = in_use(stream, request.selection.until) or next(iter(registered(stream)), None)
    return merge(chosen(stream, request), request.numbers, last, request.exact)


def of_stream(stream: Snapshot, request: StreamRequest) -> MergedSchema:
    """The merged schema of a stream; a column that falls back to text is said in the log."""
    merged = merged_of(stream, request)
    for conflict in merged.conflicts:
        log.warning(
            "stream %r of %r: the versions declare %s differently (%s), so it is a %s",
            request.stream,
            request.tap,
            conflict.column,
            ", ".join(f"{hashed}: {kind}" for hashed, kind in conflict.declared.items()),
            conflict.merged,
        )
    return merged
