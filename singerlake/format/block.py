"""A block of whole lines of one stream: many envelopes decoded at once.

This is the hot path of landing and of checking. A `RecordDecoder` takes a block of plain RECORD
lines; a block that holds anything else goes line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from singerlake.errors import BadMessage
from singerlake.format import message, times
from singerlake.format.nesting import has_room_for_depth, is_deep_line

_Decoder = msgspec.json.Decoder[Any]
Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Summary(msgspec.Struct, frozen=True):
    """How many RECORD lines there are, how many of them have a `time_extracted`, and the
    smallest and largest of those times."""

    records: int = 0
    timed: int = 0
    first: datetime | None = None
    last: datetime | None = None

    def __add__(self, other: Summary) -> Summary:
        first, last = self.first, self.last
        if first is None or (other.first is not None and other.first < first):
            first = other.first
        if last is None or (other.last is not None and other.last > last):
            last = other.last
        return Summary(self.records + other.records, self.timed + other.timed, first, last)


def of_line(envelope: message.Envelope) -> Summary:
    """The summary of one stored line."""
    if envelope.type != "RECORD":
        return Summary()
    moment = envelope.time_extracted
    return Summary(1, int(moment is not None), moment, moment)


class RecordDecoder:
    """Decodes blocks of one stream's RECORD lines, without building the records.

    With `keys`, every record has to hold these properties. They are None where blocks cannot be
    decoded.
    """

    def __init__(self, stream: str, keys: Sequence[str] = ()) -> None:
        self.keys: tuple[str, ...] | None = tuple(dict.fromkeys(keys))
        try:
            decoder = _decoder(stream, self.keys)
            self._decode: Callable[[bytes], Any] | None = decoder.decode
        except ValueError:
            # A quote or a control character in a key's name, which a struct's field cannot have;
            # or half a surrogate pair in the stream's.
            self.keys = self._decode = None

    def summarise(self, block: bytes) -> Summary | None:
        """The block's summary; None where it is not plain, though it may yet be right."""
        if self._decode is None:
            return None
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        longest = len(max(lines, key=len, default=b""))
        if has_room_for_depth(block, longest) and any(map(is_deep_line, lines)):
            return None
        try:
            if not block.isascii():
                block.decode("utf-8")
            # Line by line, because `decode_lines` takes two objects on a line, and one on two.
            records = map(self._decode, lines)
            moments = [at for record in records if (at := record.time_extracted) is not None]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return summary_of(len(lines), moments)


def summary_of(records: int, moments: Sequence[datetime]) -> Summary | None:
    """Of so many records with these times; None where one of them is no moment in UTC."""
    if not moments:
        return Summary(records)
    try:
        first, last = times.in_utc(min(moments)), times.in_utc(max(moments))
    except OverflowError:
        return None
    return Summary(records, len(moments), first, last)


@lru_cache(maxsize=1024)
def _decoder(stream: str, keys: tuple[str, ...]) -> _Decoder:
    """A decoder that skips everything but the envelope, of this stream, and the named keys.

    An empty struct still requires that `record` is an object. `type` is a field, because msgspec
    takes an object without the tag of a struct that stands alone. The structs hold no
    references that could form cycles, so the garbage collector need not know them.
    """
    names = {f"key{number}": key for number, key in enumerate(keys)}
    record = msgspec.defstruct(
        "Record", [(name, msgspec.Raw) for name in names], rename=names, gc=False
    )
    line = msgspec.defstruct(
        "RecordLine",
        [
            ("type", Literal["RECORD"]),
            ("stream", Literal[stream]),
            ("record", record),
            ("time_extracted", Time | None, None),
        ],
        gc=False,
    )
    return msgspec.json.Decoder(line)


def pieces(
    stream: str, block: bytes, summary: Summary, held: int, most: int | None
) -> Iterator[tuple[bytes, Summary]]:
    """A block of RECORD lines, cut to fill files of `most` records, of which the first has `held`.

    Each with its summary. Whole where it fits, and where there is no limit.
    """
    if most is None or held + summary.records <= most:
        yield block, summary
        return
    lines = block.removesuffix(b"\n").split(b"\n")
    begin, end = 0, most - held
    while begin < len(lines):
        piece = b"\n".join(lines[begin:end]) + b"\n"
        yield piece, summarise(piece, stream)
        begin, end = end, end + most


def summarise(block: bytes, stream: str) -> Summary:
    """The summary of a block of stored lines, all of `stream`.

    Raises `BadMessage` for a line that a file of this stream must not hold.
    """
    return RecordDecoder(stream).summarise(block) or _line_by_line(block, stream)


def _line_by_line(block: bytes, stream: str) -> Summary:
    total = Summary()
    for number, line in enumerate(block.split(b"\n")):
        if not line.strip():
            continue
        envelope = message.decode(line)
        if envelope.type not in message.STORED or envelope.stream != stream:
            raise BadMessage(
                f"expected RECORD and ACTIVATE_VERSION lines of stream {stream!r}, found "
                f"{envelope.type} of {envelope.stream!r} in line {number + 1} of the block"
            )
        total += of_line(envelope)
    return total
