"""The newest of a stream's entries.

It is the one that begins last, and of several the one that was committed last. Where records of a
stream name files of any kind, the Singer files that hold these records do not count: they begin
when their records came, which is later than the photo of the day before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from singerlake.index.entry import Entry
from singerlake.index.query import position

NamesFiles = Callable[[str, str], bool]
"""Whether records of a stream (tap, stream) name files."""


def is_singer_file(entry: Entry) -> bool:
    """Whether an entry is of a file that holds records."""
    return entry.ordinal == 0 and entry.upload is None


def age(entry: Entry) -> tuple[int, int, int, int]:
    """The greater, the newer."""
    return entry.start, entry.create_time, entry.sequence, entry.ordinal


def newest(entries: Iterable[Entry], names_files: NamesFiles) -> list[Entry]:
    """The newest entry of each stream, in the order of time. Streams are asked about at the end."""
    found: dict[tuple[str, str, bool], Entry] = {}
    for entry in entries:
        kind = (entry.tap, entry.stream, is_singer_file(entry))
        known = found.setdefault(kind, entry)
        if age(entry) > age(known):
            found[kind] = entry
    best: dict[tuple[str, str], Entry] = {}
    for (tap, stream, is_singer), entry in found.items():
        if is_singer and names_files(tap, stream):
            continue
        known = best.setdefault((tap, stream), entry)
        if age(entry) > age(known):
            best[tap, stream] = entry
    return sorted(best.values(), key=position)
