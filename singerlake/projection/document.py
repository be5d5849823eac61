"""What a projection has published: one document for each stream, replaced conditionally.

    <out>/<tap>/<stream>/published.json                       names the files of the one version
    <out>/<tap>/<stream>/data/<run>/[<column>=<value>/…]<file>    written once, never changed

The document names every file of the version, and holds the place in the raw log up to which they
go: data and progress are committed by one put, so each record is published once. Files that it
does not name are staged: of a run under way, of a run that died, or of a version before.
"""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from singerlake.errors import ConfigError
from singerlake.format import document
from singerlake.format import keys as key_names
from singerlake.format.record_type import Numbers, Type
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.projection import untyped
from singerlake.projection.schema import record_of

KIND = "singerlake.published"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How the files are made: all of a version are made the same way.

    `partition_by` and `sort_by` name columns, see `layout`; `metadata` columns are added to
    the record's own; `numbers` is what a `number` without a declared precision becomes.
    """

    format: str
    mode: str
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    numbers: Numbers = "double"


class PublishedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of the version. `path` is relative to the stream's folder.

    It was made from what was committed after `since`, up to `until`; `schema` is its own one's
    place in the document's `schemas`.
    """

    path: str
    records: int
    bytes: int
    checksum: str
    partition: dict[str, str | None] = {}
    since: int
    until: int
    schema: int = 0


class Retired(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose files a later version does without, and since when."""

    run_id: str
    time: datetime


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a projected stream.

    `log_id`, `sequence` and `check` are its `bookmark`, the place in the raw log up to which it
    goes; older documents have no `check`. Schemas are Spark's, as JSON: `schema` is the version's,
    `schemas` are those that its files were written with.
    `misfits` has, by run and by column, how many values did not fit and are null.
    `untyped` has, by place, how many values came where the schema allows nothing but null: see
    `untyped`. A place that it lacks was not counted, by a version that did not do that yet.
    `run` is the run of the tap, by run id and writer id, whose rows these are; None where the rows
    are those of all runs.
    """

    format: str = KIND
    format_version: int = document.VERSION
    tap_id: str
    stream: str
    version: int
    run_id: str
    published: datetime
    settings: Settings
    log_id: str
    sequence: int
    check: str = ""
    schema: dict[str, Any]
    schemas: tuple[dict[str, Any], ...]
    files: tuple[PublishedFile, ...] = ()
    misfits: dict[str, dict[str, int]] = {}
    untyped: dict[str, int] = {}
    run: tuple[str, str] | None = None
    retired: tuple[Retired, ...] = ()

    @property
    def bookmark(self) -> Bookmark:
        """The place in the raw log up to which the version goes."""
        return Bookmark(self.log_id, self.sequence, self.check)

    @property
    def records(self) -> int:
        return sum(file.records for file in self.files)

    @property
    def misfit_counts(self) -> dict[str, int]:
        """How many values of the version did not fit, by column."""
        counts: Counter[str] = Counter()
        for of_run in self.misfits.values():
            counts.update(of_run)
        return dict(counts)

    @property
    def runs(self) -> set[str]:
        """The runs that wrote the version's files."""
        return {run_of(file.path) for file in self.files}


@dataclass(frozen=True)
class PublishedKeys:
    """The keys of one stream below the output's root."""

    tap_id: str
    stream: str

    @property
    def folder(self) -> str:
        return f"{key_names.escape(self.tap_id)}/{key_names.escape(self.stream)}"

    @property
    def document(self) -> str:
        return f"{self.folder}/published.json"

    @property
    def data(self) -> str:
        return f"{self.folder}/data"

    def under(self, path: str) -> str:
        return f"{self.folder}/{path}"

    def path(self, key: str) -> str:
        """The path below the stream's folder, of a key that a listing gave."""
        return key[len(self.folder) + 1 :]


def new_run_id(now: datetime) -> str:
    return f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"


def run_of(path: str) -> str:
    """The run that wrote a file, by its path."""
    return path.split("/")[1]


def require_same(before: Published, settings: Settings) -> None:
    """Raises `ConfigError` where new files would not be like those that are there."""
    if before.settings != settings:
        had, has = msgspec.to_builtins(before.settings), msgspec.to_builtins(settings)
        changed = [f"{name} was {had[name]!r}, now {has[name]!r}" for name in had]
        changed = [text for text, name in zip(changed, had, strict=True) if had[name] != has[name]]
        raise ConfigError(
            f"stream {before.stream!r} of {before.tap_id!r} was published with other settings: "
            f"{'; '.join(changed)}. Use those, another output, or --full to publish it anew"
        )


def require_typed(before: Published, grown: Type) -> None:
    """Raises `ConfigError` where readers of the grown type would take older values for null."""
    found = {
        place: before.untyped.get(place)
        for schema in before.schemas
        for place in untyped.lost(record_of(schema), grown)
        if before.untyped.get(place) != 0
    }
    if found:
        told = "; ".join(
            f"{place} {'(not counted)' if count is None else count}"
            for place, count in found.items()
        )
        raise ConfigError(
            f"stream {before.stream!r} of {before.tap_id!r}: what a schema declared as null alone "
            "has another type now, and values that came all the same are published as JSON text, "
            f"to be read as null from now on: {told}. Nothing was published. Use --full to publish "
            "the stream anew: each value is converted then, or counted as a misfit"
        )


def successor(
    before: Published | None, made: Published, *, appends: bool, grace: timedelta
) -> Published:
    """The version after `before`: with its files too, or with those of the run alone."""
    if before is None:
        return made
    kept = before.files if appends else ()
    schemas = before.schemas if appends else ()
    if schemas[-1:] != made.schemas:
        schemas += made.schemas
    own = len(schemas) - 1
    added = (msgspec.structs.replace(file, schema=own) for file in made.files)
    misfits = {**before.misfits, **made.misfits} if appends else made.misfits
    version = msgspec.structs.replace(
        made,
        version=before.version + 1,
        schemas=schemas,
        files=(*kept, *added),
        misfits=misfits,
        untyped=_untyped(before, made) if appends else made.untyped,
    )
    # Older rows are history: their files' own times are older still.
    retired = [row for row in before.retired if made.published - row.time < grace]
    retired += [
        Retired(run_id=run_id, time=made.published) for run_id in sorted(before.runs - version.runs)
    ]
    return msgspec.structs.replace(version, retired=tuple(retired))


def _untyped(before: Published, made: Published) -> dict[str, int]:
    """The counts of both; what nobody counted in one of them, nobody knows of both."""
    known = {place for schema in before.schemas for place in untyped.places(record_of(schema))}
    uncounted = known - before.untyped.keys()
    counts = Counter(before.untyped)
    counts.update(made.untyped)
    return {place: count for place, count in counts.items() if place not in uncounted}


decode = document.reader(Published, KIND, sealed=True)


def encode(published: Published) -> bytes:
    return document.seal(document.encode(published))
