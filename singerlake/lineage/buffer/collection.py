"""Which partitions go: those that every destination is past, and those over a limit."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from singerlake.lineage.buffer.disk.layout import bytes_of
from singerlake.lineage.buffer.disk.partition import Partition
from singerlake.lineage.buffer.disk.state import FLOOR, count, set_checkpoint, set_fact
from singerlake.lineage.buffer.limits import HOUR
from singerlake.lineage.buffer.shelf import Shelf

logger = logging.getLogger(__name__)


def collect(shelf: Shelf, checkpoints: Mapping[str, int]) -> int:
    """Delete the partitions that everybody is past, but for the newest. Returns how many."""
    done = min(checkpoints.values(), default=0)
    gone = []
    for one in shelf.partitions()[:-1]:
        if one.last > done:
            break
        gone.append(one)
    if gone:
        _delete(shelf, gone, checkpoints, {})
    return len(gone)


def over_limit(shelf: Shelf, ages_to: int) -> list[Partition]:
    """The oldest partitions that are too much; never the newest.

    Age counts for events to the number `ages_to`: those after it can still be sent.
    """
    candidates = shelf.partitions()
    excess = sum(bytes_of(one.path) for one in candidates) - shelf.limits.retention_bytes
    oldest_kept = shelf.runtime.now().timestamp() - shelf.limits.retention_hours * HOUR
    gone = []
    for one in candidates[:-1]:
        if excess <= 0 and (one.last > ages_to or _changed(one) >= oldest_kept):
            break
        excess -= bytes_of(one.path)
        gone.append(one)
    return gone


def _changed(one: Partition) -> float:
    """When the last event came, by the clock that wrote it."""
    try:
        return one.path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def drop(shelf: Shelf, gone: Sequence[Partition], checkpoints: Mapping[str, int]) -> dict[str, int]:
    """Delete partitions whose events were not all sent: how many each destination never gets."""
    dropped = {
        destination: sum(_unsent(shelf, one, checkpoint) for one in gone)
        for destination, checkpoint in checkpoints.items()
    }
    _delete(shelf, gone, checkpoints, dropped)
    for destination, number in dropped.items():
        if number:
            logger.error(
                "%d events were dropped unsent for %s: the buffer is over its limit",
                number,
                destination,
            )
    return dropped


def _unsent(shelf: Shelf, one: Partition, checkpoint: int) -> int:
    first = max(one.first, checkpoint + 1)
    return max(0, one.last - first + 1) - shelf.gaps.between(first, one.last)


def _delete(
    shelf: Shelf,
    gone: Sequence[Partition],
    checkpoints: Mapping[str, int],
    dropped: Mapping[str, int],
) -> None:
    """Counts and checkpoints are on the disk before the files go: nothing is counted twice."""
    last = gone[-1].last
    # Before the state is locked: whoever mends a partition locks the shelf, and then the state.
    floor = _floor_after(shelf.partitions(), gone)
    with shelf.state.change(durable=True) as connection:
        set_fact(connection, FLOOR, floor)
        for destination, checkpoint in checkpoints.items():
            set_checkpoint(connection, destination, max(checkpoint, last))
            count(connection, destination, {"dropped": dropped.get(destination, 0)})
    shelf.remove(gone)


def _floor_after(all_of_them: Sequence[Partition], gone: Iterable[Partition]) -> int:
    """The first number of the oldest partition that stays."""
    firsts = {one.first for one in gone}
    return next(one.first for one in all_of_them if one.first not in firsts)
