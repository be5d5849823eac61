"""How many rows a read gives: from the log where it tells, and from the files where it does not.

A commit writes into the log how many records each file has, and every record is a row, one whose
values do not fit too. So a file whose records are all wanted is counted without being opened. The
log does not tell how many records of a file are of a certain time, and an older document of merged
files not how many each of them had: such a file is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from singerlake.decode import file as reading
from singerlake.decode.arrow_type import arrow_schema
from singerlake.decode.batch import Decoder
from singerlake.decode.request import Wanted
from singerlake.format.manifest import File
from singerlake.format.merge import Merge
from singerlake.lake import merge
from singerlake.lake.log import Selection
from singerlake.lake.snapshot import Snapshot

_CHEAPEST = ("_position",)
"""What a file is read with that has to be read: no value is decoded for it."""


def counts(snapshot: Snapshot, selection: Selection) -> Iterator[int]:
    """Numbers that add up to the rows of a read: one for each file, or for each block of a file
    that has to be read. Raises as the read does, where it reads."""
    wanted = Wanted((), _CHEAPEST, start=selection.start, end=selection.end)
    for file in snapshot.files(selection):
        known = _known(snapshot, file, selection, wanted)
        if known is None:
            yield from _read(snapshot, file, selection, wanted)
        else:
            yield known


def _known(snapshot: Snapshot, file: File, selection: Selection, wanted: Wanted) -> int | None:
    """How many rows a read gives of a file, as far as the log tells."""
    if file.records < 0 or not reading.is_in_time(file, wanted):
        return None
    if selection.holds_all_of(file):
        return file.records
    found = merge.read_merge(snapshot.store, snapshot.keys, file)
    if found is None or not found.parts:
        return file.records  # it cannot be cut, and comes whole
    return _of_parts(found, file, selection)


def _of_parts(found: Merge, file: File, selection: Selection) -> int | None:
    """The records of the selected parts; None where only their lines are known, and some of the
    file's lines are no records."""
    chosen = {sequence: lines for sequence, lines in found.parts if selection.holds(sequence)}
    if found.lines == file.records:
        return sum(chosen.values())
    records = {row.sequence: row.records for row in found.known_rows()}
    told = [records.get(sequence, -1) for sequence in chosen]
    return None if min(told, default=0) < 0 else sum(told)


def _read(snapshot: Snapshot, file: File, selection: Selection, wanted: Wanted) -> Iterator[int]:
    decoder = Decoder(wanted, arrow_schema((), _CHEAPEST))
    store, keys = snapshot.store, snapshot.keys
    for batch in reading.batches(store, keys, [file], selection, wanted, decoder):
        yield batch.num_rows
