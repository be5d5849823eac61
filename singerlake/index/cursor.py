"""A cursor: where a page ended, as a text for those who ask for the next."""

from __future__ import annotations

import base64
import binascii

import msgspec

from singerlake.errors import BadCursor
from singerlake.index.query import Position, Query

_LONGEST = 200
_INT64 = 2**63


class _Body(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    query: str
    start: int
    end: int
    sequence: int
    ordinal: int
    key: int


def encode(query: Query, position: Position) -> str:
    """A text for URLs. It belongs to its query."""
    packed = msgspec.msgpack.encode(_Body(query.digest(), *position))
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def decode(query: Query, text: str) -> Position:
    """Where the page ended that gave this cursor. Raises `BadCursor` for any other text."""
    try:
        if len(text) > _LONGEST:
            raise ValueError(f"{len(text)} characters")
        raw = text.encode("ascii")
        packed = base64.b64decode(raw + b"=" * (-len(raw) % 4), altchars=b"-_", validate=True)
        body = msgspec.msgpack.decode(packed, type=_Body)
        position = (body.start, body.end, body.sequence, body.ordinal, body.key)
        if not all(-_INT64 <= number < _INT64 for number in position):
            raise ValueError("a number past 64 bits")
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise BadCursor(
            f"expected the cursor that the page before gave, found {text[:60]!r} ({error}); "
            "begin again without a cursor"
        ) from None
    if body.query != query.digest():
        raise BadCursor(
            f"the cursor {text!r} is of another query; ask for the next page with the query of the "
            "first, or begin again without a cursor"
        )
    return position
