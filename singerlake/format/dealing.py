"""Lines of many streams in one block: decoded at once, whatever keys the streams have.

A `Dealer` reads of each line what it takes to sort it, and to know that it may be stored. What it
refuses may be right all the same: then a `RecordDecoder` looks at the lines of each stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any, Protocol

import msgspec

from singerlake.format.block import Summary, Time, summary_of
from singerlake.format.nesting import has_room_for_depth, is_deep_line

MOST_KEYS = 16
"""Key properties that are looked for in every record. Each takes time in all of them: beyond these
it is quicker to decode the lines of their streams once more."""

_ABSENT = msgspec.Raw()
_first, _last = itemgetter(slice(None, 1)), itemgetter(slice(-1, None))


class Line(Protocol):
    """What is decoded of a line. `record` is None where that is no object."""

    type: str
    stream: str | None
    record: Any
    time_extracted: datetime | None


@dataclass(frozen=True)
class Dealt:
    """A block that was decoded: an item for each line, and where its records hold which key."""

    lines: Sequence[Line]
    _keys: Mapping[str, tuple[str, ...]]
    _fields: Mapping[str, Callable[[Any], Any]]

    def summary(self, stream: str, lines: Sequence[Line]) -> Summary | None:
        """Of these RECORD lines of a stream; None where one is not plain, or nobody looked."""
        keys = self._keys.get(stream)
        if keys is None or not self._fields.keys() >= set(keys):
            return None
        records = [line.record for line in lines]
        if not all(records):
            return None
        for key in keys:
            if _ABSENT in map(self._fields[key], records):
                return None
        return summary_of(len(lines), [at for one in lines if (at := one.time_extracted)])


class Dealer:
    """Decodes blocks of lines of any streams."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, ...]] = {}
        self._fields: dict[str, Callable[[Any], Any]] = {}
        self._decode = _decoder({}).decode_lines

    def learn(self, stream: str, keys: Sequence[str] | None) -> None:
        """Look for these properties in the stream's records from now on.

        None is for a stream whose records have to be looked at in another way.
        """
        if keys is None:
            self._keys.pop(stream, None)
            return
        self._keys[stream] = tuple(keys)
        new = [key for key in dict.fromkeys(keys) if key not in self._fields]
        if new and len(self._fields) + len(new) <= MOST_KEYS:
            names = {f"key{at}": key for at, key in enumerate([*self._fields, *new])}
            # What was decoded before has no field for the new ones: it keeps the older table.
            self._fields = {key: attrgetter(name) for name, key in names.items()}
            self._decode = _decoder(names).decode_lines

    def decode(self, block: bytes, lines: Sequence[bytes]) -> Dealt | None:
        """The block, which has these lines; None where one of them is not plain."""
        try:
            found = self._decode(block)
            if not block.isascii():
                block.decode("utf-8")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        # Counts alone do not tell: two objects on a line make up for one on two lines.
        if (
            len(found) != len(lines)
            or set(map(_first, lines)) != {b"{"}
            or set(map(_last, lines)) != {b"}"}
        ):
            return None
        if has_room_for_depth(block, len(max(lines, key=len))) and any(map(is_deep_line, lines)):
            return None
        return Dealt(found, self._keys, self._fields)


def _decoder(names: Mapping[str, str]) -> msgspec.json.Decoder[Any]:
    """A decoder that skips everything but the envelope, and these properties of the record.

    The structs hold no references that could form cycles, so the garbage collector need not know
    them.
    """
    record = msgspec.defstruct(
        "Record", [(name, msgspec.Raw, _ABSENT) for name in names], rename=dict(names), gc=False
    )
    line = msgspec.defstruct(
        "Line",
        [
            ("type", str),
            ("stream", str | None, None),
            ("record", record | None, None),
            ("time_extracted", Time | None, None),
        ],
        gc=False,
    )
    return msgspec.json.Decoder(line)
