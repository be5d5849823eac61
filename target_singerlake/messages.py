"""What both paths do with messages that are not records, and with what is wrong."""

from __future__ import annotations

import logging
import re

import msgspec
from singer_sdk.exceptions import (
    InvalidJSONSchema,
    InvalidRecord,
    MapExpressionError,
    MissingKeyPropertiesError,
    RecordsWithoutSchemaException,
    StreamMapConfigError,
)

from singerlake.errors import BadMessage, InputError
from singerlake.format import message

BAD_INPUT = (
    InputError,
    InvalidJSONSchema,
    InvalidRecord,
    MapExpressionError,
    MissingKeyPropertiesError,
    RecordsWithoutSchemaException,
    StreamMapConfigError,
)
"""Our errors and the SDK's that are about the tap's output, or about what to make of it."""

# Ahead of any inner object, so that no value of a record is taken for a stream's name.
_STREAM = re.compile(rb'\s*\{[^{}]*?"stream"\s*:\s*"((?:[^"\\]|\\.)*)"')


class _State(msgspec.Struct):
    value: msgspec.Raw


_states = msgspec.json.Decoder(_State)


def state_value(line: bytes) -> bytes:
    """The value of a STATE line, as the tap wrote it. Raises `BadMessage`."""
    try:
        return bytes(_states.decode(line).value)
    except msgspec.MsgspecError as error:
        raise BadMessage(f"a STATE message without a `value` that can be read: {error}") from None


def require_properties(line: bytes) -> None:
    """As the SDK does: a schema without `properties` is refused."""
    if "properties" not in message.decode_schema(line).schema:
        raise BadMessage("the SCHEMA message's `schema` has no `properties`")


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
