"""Cutting some numbers out of a merged file, where the log has the lines of the others already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from singerlake.format import compression, singer_file
from singerlake.format import merge as merges
from singerlake.format.block import Summary
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.merge import Merge
from singerlake.format.origin import Origin
from singerlake.lake import merge, naming, source
from singerlake.lake.alone import Alone
from singerlake.lake.joined import Joined
from singerlake.lake.naming import Content, Name
from singerlake.lake.scratch import temporary_folder
from singerlake.store import Store


def cut_all(
    store: Store,
    keys: StreamKeys,
    alone: Mapping[str, Alone],
    entries: Mapping[str, File],
    writer_id: str,
) -> tuple[list[File], dict[str, Alone]]:
    """Files for the numbers that some merged files alone have, and all that is alone with these.

    `entries` are the rows of the files that can be read. Nothing is committed.
    """
    made: list[File] = []
    every = {path: one for path, one in alone.items() if one.is_whole}
    for path, one in sorted(alone.items()):
        if one.takes and path in entries:
            file, part = _cut(store, keys, entries[path], one.merge, one.takes, writer_id)
            made.append(file)
            every[file.path] = part
    return made, every


def _cut(
    store: Store,
    keys: StreamKeys,
    entry: File,
    told: Merge,
    numbers: frozenset[int],
    writer_id: str,
) -> tuple[File, Alone]:
    """A merged file of these numbers alone, behind a document that tells of them."""
    ranges = told.line_ranges(numbers.__contains__)

    def blocks() -> Iterator[bytes]:
        return compression.line_ranges(source.committed_blocks(store, keys, entry), ranges)

    where = keys.under(entry.path)
    summary = singer_file.scan(blocks(), where).summary
    with temporary_folder() as folder:
        origin = Origin(writer_id, merge.RUN_ID, min(numbers))
        joined = Joined(Path(folder, "cut"), compression.DEFAULT, origin)
        joined.add(blocks(), where)
        spool = joined.finish()
        name = _name(keys, entry, summary)
        document = ""

        def announce(path: str) -> str:
            nonlocal document
            part = _part(told, numbers, path)
            document = merge.write_document(store, keys, part, 1, len(numbers), "").path
            return keys.under(document)

        content = Content(spool.finish(), spool.checksum, spool.bytes)
        content = naming.create(store, keys, name, content, announce)
    path = name.path(content.checksum)
    file = msgspec.structs.replace(
        entry,
        path=path,
        records=summary.records,
        bytes=content.bytes,
        raw_bytes=spool.raw_bytes,
        first=name.first,
        last=name.last,
        checksum=content.checksum,
    )
    return file, Alone(document, _part(told, numbers, path))


def _name(keys: StreamKeys, entry: File, summary: Summary) -> Name:
    first, last = summary.first or entry.first, summary.last or entry.last
    if summary.timed < summary.records:
        first, last = entry.first, entry.last
    return Name(keys.stream, entry.schema_hash, first, last)


def _part(told: Merge, numbers: frozenset[int], path: str) -> Merge:
    """The merge with these numbers only, which are 1, 2, … now."""
    now = {number: at for at, number in enumerate(sorted(numbers), start=1)}
    sources = told.sources()
    wanted = {sources[number] for number in numbers if number in sources}
    return Merge(
        path=path,
        parts=tuple((now[number], lines) for number, lines in told.parts if number in numbers),
        retired=tuple(one for one in told.retired if one.checksum in wanted),
        commits=merges.commits_of(_renumbered(told, now)),
    )


def _renumbered(told: Merge, now: Mapping[int, int]) -> Iterable[File]:
    for row in told.known_rows():
        if row.sequence in now:
            yield msgspec.structs.replace(row, sequence=now[row.sequence])
