"""A look at a buffer from outside, whether a proxy works on it or not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from singerlake.errors import ConfigError, CorruptFile
from singerlake.lineage.buffer.disk import database, high_water, owner, partition
from singerlake.lineage.buffer.disk.event import Stored, unpack
from singerlake.lineage.buffer.disk.gaps import Gap, Gaps
from singerlake.lineage.buffer.disk.layout import DAMAGED, STATE, bytes_of, partition_paths
from singerlake.lineage.buffer.disk.partition import Partition
from singerlake.lineage.buffer.disk.state import State


@dataclass(frozen=True)
class Destination:
    """`head` is the next event to send; `events` wait, it with them."""

    name: str
    checkpoint: int
    events: int
    bytes: int
    head: Stored | None
    sent: int
    dead: int
    dropped: int


@dataclass(frozen=True)
class Survey:
    folder: Path
    holder: str
    last: int
    partitions: int
    bytes: int
    destinations: tuple[Destination, ...]
    losses: tuple[Gap, ...]
    damaged: tuple[str, ...]

    @property
    def lost(self) -> int:
        return sum(gap.size for gap in self.losses)


@contextmanager
def opened_state(folder: Path) -> Iterator[State]:
    """Raises `ConfigError` where there is no buffer."""
    path = folder / STATE
    if not path.exists():
        raise ConfigError(f"{folder}: expected the folder of a proxy (--data), found no {STATE}")
    state = State(path)
    try:
        yield state
    finally:
        state.close()


def survey(folder: Path) -> Survey:
    with opened_state(folder) as state:
        found = list(_readable(folder))
        gaps = Gaps(state)
        last = max([high_water.read(folder), *(one.last for one in found)])
        destinations = tuple(
            _destination(name, checkpoint, state, found, gaps)
            for name, checkpoint in sorted(state.checkpoints().items())
        )
        aside = folder / DAMAGED
        return Survey(
            folder,
            owner.holder(folder) if owner.is_held(folder) else "",
            last,
            len(found),
            sum(bytes_of(one.path) for one in found),
            destinations,
            tuple(gap for gap in gaps if gap.lost),
            tuple(sorted(path.name for path in aside.iterdir())) if aside.is_dir() else (),
        )


def _readable(folder: Path) -> Iterator[Partition]:
    for first, paths in partition_paths(folder).items():
        try:
            yield partition.opened(paths[-1], first)
        except (CorruptFile, sqlite3.Error):
            continue  # `check` says what is wrong with it


def _destination(
    name: str, checkpoint: int, state: State, found: list[Partition], gaps: Gaps
) -> Destination:
    behind = [one for one in found if one.last > checkpoint]
    counters = state.counters()
    return Destination(
        name,
        checkpoint,
        sum(_unsent(one, checkpoint, gaps) for one in behind),
        sum(bytes_of(one.path) for one in behind),
        head_after(found, checkpoint),
        *(counters.get((counter, name), 0) for counter in ("sent", "dead", "dropped")),
    )


def _unsent(one: Partition, checkpoint: int, gaps: Gaps) -> int:
    first = max(one.first, checkpoint + 1)
    return one.last - first + 1 - gaps.between(first, one.last)


def head_after(found: list[Partition], checkpoint: int) -> Stored | None:
    for one in found:
        if one.last > checkpoint:
            with closing(database.connect_to_read(one.path)) as connection:
                rows = partition.rows_after(connection, checkpoint, 1)
            if rows:
                return unpack(rows[0])
    return None


def head_of(folder: Path, checkpoint: int) -> Stored | None:
    return head_after(list(_readable(folder)), checkpoint)
