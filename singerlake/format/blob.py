"""Files of any kind: which properties of a record name one, and where a line says its bytes lie.

    {"type":"RECORD", …, "singerlake_files":{"photo":"_files/9f/9f86d0…"}}

A schema marks the properties whose values are staged files. The writer stores the bytes below the
stream's folder, under their SHA-256, and splices the paths into the line, beside `time_extracted`.
Only lines of files whose SCHEMA has a mark are looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from singerlake.errors import BadMessage
from singerlake.format import message
from singerlake.format.blob_keys import kind_of
from singerlake.format.schema import Schema

MARK = "x-singerlake-file"
"""The keyword in a property's schema; it counts where it is true."""

FIELD = "singerlake_files"
"""The field of a RECORD message that has the paths, by property."""

FORGOTTEN = "singerlake_forgotten"
"""The field of a tombstone: what earlier records with the same key named is not named any more.

By path, how many records with the key named it up to then; `true` is for all before."""

_FIELD = f'"{FIELD}"'.encode()
_FORGOTTEN = f'"{FORGOTTEN}"'.encode()


def marked(schema: Schema) -> tuple[str, ...]:
    """The properties at the top of the schema that name files, in the schema's order."""
    properties = schema.schema.get("properties")
    if not isinstance(properties, dict):
        return ()
    return tuple(
        name
        for name, declared in properties.items()
        if isinstance(declared, dict) and declared.get(MARK) is True
    )


def has_field(lines: bytes) -> bool:
    """Whether a line, or one of a block, may say where files lie, or that some are forgotten."""
    return _FIELD in lines or _FORGOTTEN in lines


def with_files(line: bytes, paths: Mapping[str, str]) -> bytes:
    """A RECORD line with the paths of its files spliced in before its last brace."""
    end = line.rindex(b"}")
    text = json.dumps(dict(paths), separators=(",", ":"), ensure_ascii=True).encode()
    return b"%s,%s:%s%s" % (line[:end], _FIELD, text, line[end:])


def overruled(line: bytes, paths: Mapping[str, str]) -> bytes:
    """The same, of a line that came with fields of these names: the last of equal keys counts."""
    end = line.rindex(b"}")
    return with_files(b"%s,%s:false%s" % (line[:end], _FORGOTTEN, line[end:]), paths)


@dataclass(frozen=True)
class Named:
    """What one line says of files: paths by property, and the values of the stream's key.

    A tombstone has no paths, and is `forgotten`; `counts` says how many of the records before it
    it is about, by path, None for all.
    """

    key: str
    paths: Mapping[str, str]
    record: Mapping[str, Any]
    forgotten: bool = False
    counts: Mapping[str, int] | None = None


class _Wire(msgspec.Struct):
    type: str
    singerlake_files: Any = None
    singerlake_forgotten: Any = None


_decoder = msgspec.json.Decoder(_Wire)


def named(line: bytes, key_properties: Sequence[str]) -> Named | None:
    """What a stored line says of files; None where it says nothing.

    A path that is not that of a blob is passed over: it leads nowhere in the lake.
    """
    if not has_field(line):
        return None
    try:
        wire = _decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        wire = _as_python_reads(line)
    if wire.type != "RECORD":
        return None
    given = wire.singerlake_files
    found = given if isinstance(given, dict) else {}
    paths = {
        name: path
        for name, path in found.items()
        if isinstance(path, str) and kind_of(path) == "blob"
    }
    counts = _counts(wire.singerlake_forgotten)
    forgotten = wire.singerlake_forgotten is True or counts is not None
    if not paths and not forgotten:
        return None
    record = message.record_of(line)
    return Named(key_of(record, key_properties), paths, record, forgotten, counts)


def _counts(given: Any) -> dict[str, int] | None:
    if not isinstance(given, dict):
        return None
    return {
        path: count
        for path, count in given.items()
        if kind_of(path) == "blob" and isinstance(count, int) and not isinstance(count, bool)
    }


def key_of(record: Mapping[str, Any], key_properties: Sequence[str]) -> str:
    """The record's key as one text: equal for equal values of the key properties."""
    values = [record.get(name) for name in key_properties]
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def _as_python_reads(line: bytes) -> _Wire:
    """Lines may hold `NaN`, which the quick decoder refuses."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"JSON that Python cannot read ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise BadMessage(f"expected a JSON object, found {type(content).__name__}")
    return _Wire(str(content.get("type")), content.get(FIELD), content.get(FORGOTTEN))
