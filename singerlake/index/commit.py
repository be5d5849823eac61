"""The entries of a commit, as an event of the feed has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from singerlake.format.manifest import File
from singerlake.index.entry import Entry, EntryIds, micros, named_file_path
from singerlake.lake.feed.event import Committed


class NamedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of any kind that a record names. Times are in microseconds; times and run that the
    record does not say are those of its Singer file."""

    checksum: str
    size: int
    start: int | None = None
    end: int | None = None
    run_id: str | None = None


NamedFiles = Callable[[Committed, File], Iterable[NamedFile]]
"""The files that the records of a Singer file name, in their order: each time the same."""


def entries_of(event: Committed, ids: EntryIds, named_files: NamedFiles) -> Iterator[Entry]:
    """An entry for each file of the commit, and behind it those that its records name."""
    for file in event.files:
        entry = _singer_file(event, file, ids)
        yield entry
        for ordinal, named in enumerate(named_files(event, file), start=1):
            yield _named_file(entry, named, ordinal, ids)


def _singer_file(event: Committed, file: File, ids: EntryIds) -> Entry:
    forgotten = file.merge is not None
    # A row without `raw_bytes` is of a file that was merged into the one at its path.
    return Entry(
        id=ids.id(file.sequence),
        tap=event.tap,
        stream=event.stream,
        log_id=event.log_id,
        sequence=file.sequence,
        first_sequence=file.first_sequence,
        run_id=None if forgotten or not file.run_id else file.run_id,
        writer_id=None if forgotten or not file.writer_id else file.writer_id,
        schema_hash=file.schema_hash,
        version=event.versions.get(file.schema_hash),
        start=micros(file.first),
        end=micros(file.last),
        hash=file.checksum,
        size=file.bytes,
        records=file.records if file.records >= 0 else None,
        create_time=micros(file.committed),
        path=file.path,
        merged=forgotten or file.raw_bytes < 0,
    )


def _named_file(entry: Entry, named: NamedFile, ordinal: int, ids: EntryIds) -> Entry:
    return msgspec.structs.replace(
        entry,
        id=ids.id(entry.sequence, ordinal),
        ordinal=ordinal,
        start=entry.start if named.start is None or named.end is None else named.start,
        end=entry.end if named.start is None or named.end is None else named.end,
        run_id=named.run_id or entry.run_id,
        hash=named.checksum,
        size=named.size,
        records=None,
        path=named_file_path(named.checksum),
        merged=False,
    )
