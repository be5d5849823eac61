"""Singer messages: the envelope is decoded, the record inside it is never built.

A line that is stored is the line that was sent. The edits are `with_time`, and `blob.with_files`.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import msgspec

from singerlake.errors import BadMessage
from singerlake.format import times
from singerlake.format.nesting import DEEPEST, DEEPEST_LINE, is_deep_line, is_too_deep
from singerlake.format.schema import Schema

STORED = frozenset({"RECORD", "ACTIVATE_VERSION"})
"""The message types that follow the SCHEMA message in a Singer file."""

LONGEST = 128 * 1024 * 1024
"""Bytes of a line that the lake takes: whoever reads it holds it in memory, a few times over."""


class Envelope(msgspec.Struct, frozen=True):
    """A message without its content. `time_extracted` is in UTC."""

    type: str
    stream: str = ""
    time_extracted: datetime | None = None


class _Wire(msgspec.Struct):
    type: str
    stream: str | None = None
    time_extracted: datetime | None = None
    record: msgspec.Raw = msgspec.Raw()


_decoder = msgspec.json.Decoder(_Wire)
_object = msgspec.json.Decoder(msgspec.defstruct("_Object", []))


def decode_sent(line: bytes) -> Envelope:
    """The envelope of a line that the lake is to take. Raises `BadMessage`, as `decode` does, and
    where it is too long; stored lines may be longer, by the time that was spliced in."""
    if len(line) > LONGEST:
        raise too_long()
    return decode(line)


def decode(line: bytes) -> Envelope:
    """The envelope of one line. Raises `BadMessage`, which never quotes the line's data."""
    if is_deep_line(line):
        raise BadMessage(
            f"JSON of more than {DEEPEST_LINE} levels, the most that the lake takes: have the tap "
            "send flatter records"
        )
    try:
        wire = _decoder.decode(line)
        _require_utf8(line)
    except msgspec.ValidationError as error:
        raise BadMessage(f"not a Singer message: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        wire = _decode_as_python_does(line)
    if wire.type in ("RECORD", "SCHEMA", "ACTIVATE_VERSION") and not wire.stream:
        raise BadMessage(f"a {wire.type} message has no `stream`")
    if wire.type == "RECORD" and bytes(wire.record)[:1] != b"{":
        raise BadMessage(f"a RECORD message of stream {wire.stream!r} has no `record` object")
    return Envelope(wire.type, wire.stream or "", _in_utc(wire.time_extracted))


def too_long() -> BadMessage:
    return BadMessage(
        f"a line of more than {LONGEST} bytes, the most that the lake takes: have the tap send "
        "smaller records"
    )


def decode_schema(line: bytes) -> Schema:
    """What a SCHEMA line declares; a missing `key_properties` is an empty one."""
    message = _loads(line)
    stream, schema = message.get("stream"), message.get("schema")
    keys = message.get("key_properties") or []
    if not isinstance(schema, dict):
        raise BadMessage(f"the SCHEMA message of stream {stream!r} has no `schema` object")
    if is_too_deep(schema):
        raise BadMessage(f"the schema of stream {stream!r} has more than {DEEPEST} levels")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise BadMessage(
            f"`key_properties` in the SCHEMA message of stream {stream!r} is not a list of names"
        )
    return Schema(schema, tuple(keys))


def with_time(line: bytes, received: datetime) -> bytes:
    """A RECORD line with `time_extracted` spliced in before its last brace."""
    end = line.rindex(b"}")
    return b'%s,"time_extracted":"%s"%s' % (
        line[:end],
        times.rfc3339(received).encode(),
        line[end:],
    )


def with_times(block: bytes, received: datetime) -> bytes | None:
    """A block of RECORD lines with `time_extracted` spliced into each.

    None where a line does not end right with its brace: such lines go one by one.
    """
    if not block.endswith(b"\n"):
        block += b"\n"
    # A line feed inside a JSON string is escaped, so this only ever matches at line ends.
    if block.count(b"}\n") != block.count(b"\n"):
        return None
    return block.replace(b"}\n", b',"time_extracted":"%s"}\n' % times.rfc3339(received).encode())


def record_of(line: bytes) -> dict[str, Any]:
    """The record of a RECORD line as Python's json reads it."""
    record = _loads(line).get("record")
    if not isinstance(record, dict):
        raise BadMessage("a RECORD message has no `record` object")
    return record


def require_object(text: bytes) -> None:
    """Raises `BadMessage` for what is not one JSON object and nothing else, as Python reads it."""
    try:
        _object.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        _loads(text)


def _in_utc(moment: datetime | None) -> datetime | None:
    try:
        return None if moment is None else times.in_utc(moment)
    except OverflowError:
        raise BadMessage("`time_extracted` is outside the years 1 to 9999 in UTC") from None


def _decode_as_python_does(line: bytes) -> _Wire:
    """Read what the quick decoder refuses and Python's json allows.

    Taps written in Python send `NaN`, and lone surrogates as escapes: such a line is kept.
    """
    message = _loads(line)
    if isinstance(message.get("record"), dict):
        message["record"] = msgspec.Raw(b"{}")
    else:
        message.pop("record", None)
    try:
        return msgspec.convert(message, _Wire)
    except msgspec.ValidationError as error:
        raise BadMessage(f"not a Singer message: {error}") from None
    except UnicodeEncodeError:
        raise BadMessage("not a Singer message: half a surrogate pair outside its record") from None


def _loads(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadMessage(f"not UTF-8: a wrong byte at position {error.start}") from None
    except json.JSONDecodeError as error:
        raise BadMessage(f"not JSON: {error.msg} at character {error.pos}") from None
    except ValueError:
        # Its message is Python's advice to programmers: an integer of more than 4300 digits.
        raise BadMessage("a number has more digits than Python reads") from None
    except RecursionError:
        raise BadMessage("JSON nested too deeply to be read") from None
    if not isinstance(message, dict):
        raise BadMessage(f"expected a JSON object, found {type(message).__name__}")
    return message


def _require_utf8(line: bytes) -> None:
    """The quick decoder does not look inside what it skips."""
    if not line.isascii():
        line.decode("utf-8")
