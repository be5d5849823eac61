"""An entry: one file of the lake as it was committed, and where its bytes are today."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

import msgspec

from singerlake.format import times
from singerlake.format.keys import StreamKeys, escape

ID_DIGITS = 32

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICRO = timedelta(microseconds=1)


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """What an entry has that is no part of the lake: a file that somebody uploaded with metadata
    of its own, at an address of its own."""

    url: str
    metadata: Mapping[str, Any]


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file. Times are microseconds since 1970, in UTC: see `micros` and `moment`.

    (`tap`, `stream`, `log_id`, `sequence`, `ordinal`) is what was committed: `ordinal` 0 is the
    Singer file, 1 and more are the files of any kind that its records name. `start` and `end` are
    the first and the last `time_extracted`, `create_time` the time of the commit. None of that ever
    changes.

    `path` is the object that holds the bytes today, relative to the stream's folder; `merged` says
    that the object holds other commits too. A vacuum changes these two and nothing else.

    Where an older vacuum forgot what it merged, one entry stands for the numbers from
    `first_sequence` to `sequence`, and run and writer are None; so are `records` and `version`
    where nobody knows them. An `upload` has no log.
    """

    id: str
    tap: str
    stream: str
    log_id: str
    sequence: int
    ordinal: int = 0
    first_sequence: int = 0
    run_id: str | None = None
    writer_id: str | None = None
    schema_hash: str = ""
    version: int | None = None
    start: int
    end: int
    hash: str
    size: int
    records: int | None = None
    create_time: int
    path: str
    merged: bool = False
    upload: Upload | None = None

    @property
    def lowest_sequence(self) -> int:
        """The first number that the entry stands for: its only one, but for a forgotten merge."""
        return self.first_sequence or self.sequence

    @property
    def key(self) -> str:
        """The key of the object in the lake's store; of an upload, its address."""
        if self.upload is not None:
            return self.upload.url
        return StreamKeys(self.tap, self.stream).under(self.path)


class EntryIds:
    """The ids of one stream's entries."""

    def __init__(self, lake_id: str, tap: str, stream: str, log_id: str) -> None:
        text = json.dumps([lake_id, tap, stream, log_id], separators=(",", ":"))
        self._begun = hashlib.sha256(text[:-1].encode("ascii"))

    def id(self, sequence: int, ordinal: int = 0) -> str:
        """The first 32 hexadecimal digits of the SHA-256 of the JSON array
        [lake id, tap, stream, log id, sequence, ordinal]."""
        whole = self._begun.copy()
        whole.update(b",%d,%d]" % (sequence, ordinal))
        return whole.hexdigest()[:ID_DIGITS]


@lru_cache(maxsize=10_000)
def entry_ids(lake_id: str, tap: str, stream: str, log_id: str) -> EntryIds:
    """As `EntryIds`, kept for the next time."""
    return EntryIds(lake_id, tap, stream, log_id)


def entry_id(
    lake_id: str, tap: str, stream: str, log_id: str, sequence: int, ordinal: int = 0
) -> str:
    """The id of one entry; see `EntryIds`."""
    return EntryIds(lake_id, tap, stream, log_id).id(sequence, ordinal)


def micros(moment: datetime) -> int:
    """A time as an entry has it; without a zone it is taken to be UTC."""
    if moment.tzinfo is not timezone.utc:
        moment = times.in_utc(moment)
    passed = moment - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def moment(microseconds: int) -> datetime:
    """The time that an entry has. Raises `OverflowError` outside the years 1 to 9999."""
    return _EPOCH + microseconds * _MICRO


def own_path(stream: str, schema_hash: str, start: int, end: int, suffix: str) -> str:
    """Where a Singer file lies that no vacuum merged, and that has a name as we write it today."""
    # As `FileName` prints it, and five times as quick: a page of answers has a hundred of them.
    last = f"-{suffix}" if suffix else ""
    return f"{schema_hash}/{_escaped(stream)}-{_stamp(start)}-{_stamp(end)}{last}{_EXTENSION}"


_EXTENSION = ".singer.gz"
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


def _stamp(microseconds: int) -> str:
    """As `times.stamp` prints it."""
    day, rest = divmod(microseconds, _DAY)
    seconds, fraction = divmod(rest, _SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{_day(day)}T{hour:02}{minute:02}{second:02}.{fraction:06}Z"


@lru_cache(maxsize=10_000)
def _day(day: int) -> str:
    return times.stamp(moment(day * _DAY))[:8]


@lru_cache(maxsize=10_000)
def _escaped(stream: str) -> str:
    return escape(stream)


def named_file_path(checksum: str) -> str:
    """Where a file of any kind lies, which a record names."""
    digits = checksum.removeprefix("sha256:")
    return f"_files/{digits[:2]}/{digits}"
