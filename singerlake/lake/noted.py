"""The files of jobs where a log is mended: which of them no log may name."""

from __future__ import annotations

from singerlake.lake import retired
from singerlake.lake.inventory import StreamInventory
from singerlake.lake.known_order import Known
from singerlake.store import Store


def left_out(store: Store, found: StreamInventory, known: Known) -> set[str]:
    """The noted files that are not adopted.

    Where the log names every commit, they wait for their jobs. Where it does not, nothing tells
    what a job has committed, and its files are taken: unless one of them is in the log, or in a
    merge, which is made of committed files alone. Then the job's commit is known, all of it, and
    the rest are other attempts at the same tasks.
    """
    if not found.notes:
        return set()
    # By the path alone: two attempts may have the same bytes.
    held = {row.path for row in known.files}
    for merge in retired.read_all(store, found.keys, found.merges).values():
        held |= {one.path for one in merge.retired}
    jobs = {note.job for note in found.notes if note.file in held}
    noted = {note.file for note in found.notes if known.names_every_commit or note.job in jobs}
    return noted - held
