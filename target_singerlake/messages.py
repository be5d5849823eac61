"""What both paths do with messages that are not records, and with what is wrong."""

from __future__ import annotations

import json
import logging
import re
from decimal import Decimal
from typing import Any

import msgspec

from singerlake.errors import BadMessage
from singerlake.format import message

# Ahead of any inner object, so that no value of a record is taken for a stream's name.
_STREAM = re.compile(rb'\s*\{[^{}]*?"stream"\s*:\s*"((?:[^"\\]|\\.)*)"')


class _State(msgspec.Struct):
    value: msgspec.Raw


_states = msgspec.json.Decoder(_State)


def parsed(line: bytes) -> dict[str, Any]:
    """A line that `message.decode` took, as Python objects; decimals are exact.

    Raises `BadMessage`.
    """
    try:
        content: dict[str, Any] = json.loads(line, parse_float=Decimal)
        return content
    except (ValueError, RecursionError) as error:
        # Its message may quote the line's data.
        raise BadMessage(f"JSON that Python cannot read ({type(error).__name__})") from None


def serialized(content: Any) -> bytes:
    from singerlake.plugin.exact_json import exact_json  # which the raw path hardly ever needs

    return exact_json(content).encode()


def state_value(line: bytes) -> bytes:
    """The value of a STATE line, as the tap wrote it. Raises `BadMessage`."""
    try:
        return bytes(_states.decode(line).value)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadMessage(f"a STATE message without a `value` that can be read: {error}") from None
    except msgspec.DecodeError:
        # `NaN`, or half of a surrogate pair: what Python reads is kept, as in records.
        content = parsed(line)
    if "value" not in content:
        raise BadMessage("a STATE message without a `value`")
    return serialized(content["value"])


def require_properties(line: bytes) -> None:
    """As the SDK does: a schema without an object of `properties` is refused."""
    if not isinstance(message.decode_schema(line).schema.get("properties"), dict):
        raise BadMessage("the SCHEMA message's `schema` has no object `properties`")


def require_version(line: bytes) -> None:
    """As the SDK does: an ACTIVATE_VERSION that names no version is refused."""
    if parsed(line).get("version") is None:
        raise BadMessage("the ACTIVATE_VERSION message has no `version`")


class UnknownTypes:
    """Warns once of each message type that nobody knows."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._seen: set[str] = set()

    def pass_over(self, kind: str) -> None:
        if kind not in self._seen:
            self._seen.add(kind)
            self._log.warning("Messages of the unknown type %r are passed over", kind)


def at_line(number: int, line: bytes, error: Exception) -> Exception:
    """The same error, saying where in the input it is, and in which stream if that can be told."""
    stream = _STREAM.match(line)
    of_stream = f", stream {stream[1].decode('utf-8', 'replace')!r}" if stream else ""
    error.args = (f"line {number} of the input{of_stream}: {error}", *error.args[1:])
    return error
