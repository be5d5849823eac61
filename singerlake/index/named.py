"""The files of any kind that the records of a commit name.

All that an entry says comes from the lines, and nothing from the stored bytes: these may be
forgotten, and an index that is made then has to equal one that was there before. So the size is
what the record says, as `singerlake put` writes it, and 0 where no record does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from singerlake.errors import DamageError, MissingFile, StaleSnapshot
from singerlake.format import times
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.schema import Schema
from singerlake.index.commit import NamedFile
from singerlake.index.entry import micros
from singerlake.lake import Selection, Snapshot, Stream
from singerlake.lake.blobs.reference import Marks, Reference, files_in
from singerlake.lake.feed.event import Committed
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store

logger = logging.getLogger(__name__)

LARGEST = 2**63 - 1
"""A size that every storage can hold."""

LONGEST_WORK_ID = 256
"""As `singerlake put` takes it; a key of DynamoDB holds a little more."""


MOST_FILES, MOST_RECORDS = 256, 10_000
"""What is read at once, beside a first file of any size: so much is in memory."""


@dataclass(frozen=True)
class _Held:
    """What some Singer files name, by number of commit: a merged file has those of many."""

    place: tuple[StreamKeys, str]
    first: int
    last: int
    files: dict[int, list[NamedFile]] = field(default_factory=dict)

    def holds(self, place: tuple[StreamKeys, str], file: File) -> bool:
        known = self.place == place and self.first <= file.lowest_sequence
        return known and file.sequence <= self.last

    def of(self, file: File) -> list[NamedFile]:
        if not file.first_sequence:
            return self.files.get(file.sequence, [])
        numbers = (number for number in self.files if number >= file.first_sequence)
        return [one for number in numbers if number <= file.sequence for one in self.files[number]]


class LakeFiles:
    """Looks into Singer files whose schema marks a property, and into no other.

    A schema version that is new costs a look at the manifest and the catalogue. A Singer file is
    read once for all the commits that it holds, and small ones that follow it in the log are read
    beside it: ask in the order of the log. For one thread.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._marks = store, Marks()
        self._plain: set[tuple[StreamKeys, str]] = set()
        self._snapshot: Snapshot | None = None
        self._held: _Held | None = None

    def __call__(self, event: Committed, file: File) -> Iterable[NamedFile]:
        keys = StreamKeys(event.tap, event.stream)
        if (keys, file.schema_hash) in self._plain:
            return ()
        place = keys, event.bookmark.log_id
        if self._held is None or not self._held.holds(place, file):
            schema = self._schema(event, keys, file)
            if schema is None:
                return ()
            self._held = self._read(event, keys, file, schema)
        return self._held.of(file)

    def _schema(self, event: Committed, keys: StreamKeys, file: File) -> Schema | None:
        """The schema of a file, if it has a mark."""
        found = self._marks.of(self._at(event, keys), {file.schema_hash}).get(file.schema_hash)
        if found is None:
            self._plain.add((keys, file.schema_hash))
            if not self._marks.knows(keys, file.schema_hash):
                logger.warning(
                    "%s: nothing that can be read has this schema; if its records name files, they "
                    "are not indexed",
                    keys.under(file.path),
                )
        return found

    def _at(self, event: Committed, keys: StreamKeys, *, anew: bool = False) -> Snapshot:
        """A snapshot that has the event."""
        known, log_id = self._snapshot, event.bookmark.log_id
        is_of_stream = known is not None and (known.keys, known.log_id) == (keys, log_id)
        if known and is_of_stream and not anew and known.last_sequence >= event.last_sequence:
            return known
        self._snapshot = found = Stream(self._store, event.tap, event.stream).snapshot()
        if found.log_id != log_id:
            raise StaleSnapshot(
                f"stream {event.stream!r} of {event.tap!r} was numbered anew since its commit "
                f"{event.last_sequence} was read; ask again"
            )
        return found

    def _read(self, event: Committed, keys: StreamKeys, file: File, schema: Schema) -> _Held:
        try:
            return _named(self._at(event, keys), file, schema, MissingFile)
        except (MissingFile, StaleSnapshot):  # a vacuum and a purge were quicker
            return _named(self._at(event, keys, anew=True), file, schema)


def _named(
    snapshot: Snapshot, file: File, schema: Schema, passed_on: type[Exception] | tuple[()] = ()
) -> _Held:
    """What a damaged Singer file names, nobody knows: its own entry is there all the same."""
    rows = _stretch(snapshot, file)
    first = min((row.lowest_sequence for row in rows), default=file.lowest_sequence)
    last = max((row.sequence for row in rows), default=file.sequence)
    held = _Held((snapshot.keys, snapshot.log_id), first, last)

    def read(row: File) -> list[tuple[int, NamedFile]]:
        try:
            found = files_in(snapshot, row, schema)
            return [(reference.sequence, _named_file(reference)) for reference in found]
        except passed_on:
            raise
        except DamageError as error:
            where = snapshot.keys.under(row.path)
            logger.warning("%s: the files that it names are not indexed: %s", where, error)
            return []

    for found in in_parallel(read, rows) if len(rows) > 1 else map(read, rows):
        for sequence, named in found:
            held.files.setdefault(sequence, []).append(named)
    return held


def _stretch(snapshot: Snapshot, file: File) -> list[File]:
    """The rows that hold the commits of a file today, and of those behind them as many as may be
    read beside: of the same schema version, and small."""
    rows: list[File] = []
    records = 0
    for row in snapshot.files(Selection(since=file.lowest_sequence - 1)):
        records += max(row.records, 0)
        is_beside = row.lowest_sequence > file.sequence
        is_much = len(rows) == MOST_FILES or records > MOST_RECORDS or row.records < 0
        if is_beside and (is_much or row.schema_hash != file.schema_hash):
            break
        rows.append(row)
    return rows


def _named_file(reference: Reference) -> NamedFile:
    record, checksum = reference.record, f"sha256:{reference.sha256}"
    if record.get("sha256") != reference.sha256:
        return NamedFile(checksum=checksum, size=0)
    # A record as `singerlake put` writes it, which says all about its file.
    work_id, start, end = record.get("work_id"), _time(record, "start"), _time(record, "end")
    is_work = isinstance(work_id, str) and 0 < len(work_id) <= LONGEST_WORK_ID
    return NamedFile(
        checksum=checksum,
        size=_size(record.get("size")),
        start=start,
        end=start if end is None or start is None or end < start else end,
        run_id=work_id if is_work else None,
    )


def _size(value: object) -> int:
    is_size = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST
    return value if isinstance(value, int) and is_size else 0


def _time(record: Mapping[str, Any], name: str) -> int | None:
    value = record.get(name)
    try:
        return micros(times.parse_time(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
