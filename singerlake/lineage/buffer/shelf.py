"""The partitions of a buffer, and which number is next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from singerlake.errors import CorruptFile
from singerlake.lineage.buffer.disk import partition, rescue
from singerlake.lineage.buffer.disk.gaps import Gaps
from singerlake.lineage.buffer.disk.high_water import HighWater
from singerlake.lineage.buffer.disk.layout import PREPARED, partition_paths
from singerlake.lineage.buffer.disk.partition import Partition
from singerlake.lineage.buffer.disk.state import FLOOR, State, set_fact
from singerlake.lineage.buffer.limits import Limits
from singerlake.runtime import Runtime

logger = logging.getLogger(__name__)

LEAP = 10_000_000
"""Past the end of a damaged partition: more events than one partition holds."""


class Shelf:
    """Any thread may read it; the writer's adds to it, and the keeper's takes from it."""

    def __init__(
        self, folder: Path, state: State, limits: Limits, runtime: Runtime, delivered: int = 0
    ) -> None:
        self.folder, self.state, self.limits, self.runtime = folder, state, limits, runtime
        self.gaps, self.high = Gaps(state), HighWater(folder)
        self._changed = threading.Condition()
        self._partitions: dict[int, Partition] = {}
        self.delivered = delivered
        """Every destination has all to this number: damage below it loses nothing."""
        self.next = 1
        self._load()

    # What is there when the proxy starts.

    def _load(self) -> None:
        partition.discard(self.folder / PREPARED)
        paths = partition_paths(self.folder)
        known = max([self.high.value, *self.state.checkpoints().values()])
        self._note_missing(paths)
        followers = [*paths][1:]
        for place, first in enumerate(paths):
            for old in paths[first][:-1]:
                rescue.set_aside(self.folder, old, self.runtime)
            is_newest = place == len(followers)
            last = known if is_newest else followers[place] - 1
            found = self._sound(paths[first][-1], first, last)
            # What a failed commit left past the end has numbers that the next partition has.
            self._partitions[first] = found if is_newest else found.grown(min(found.last, last))
        newest = self.newest
        self.next = max(known, newest.last if newest else 0) + 1
        if newest is not None and newest.last < known:
            self._leap()

    def _note_missing(self, paths: dict[int, list[Path]]) -> None:
        """Partitions that are gone from the front."""
        floor, oldest = self.state.fact(FLOOR), next(iter(paths), self.high.value + 1)
        if floor is None:
            # The state is new, or was lost: what is missing from here on cannot be told.
            with self.state.change(durable=True) as connection:
                set_fact(connection, FLOOR, oldest)
        elif floor < oldest:
            self.note_lost([(floor, oldest - 1)], "the files are gone")

    def _sound(self, path: Path, first: int, last: int) -> Partition:
        """The partition, or what could be rescued of it. All to `last` should be in it."""
        try:
            found = partition.opened(path, first, sealed=True)
        except CorruptFile as error:
            return self._rescued(Partition(path, first, last), str(error))
        if found.last < last and not self.gaps.covers(found.last + 1, last):
            self.note_lost([(found.last + 1, last)], f"{path.name} ends too early")
        return found

    def _leap(self) -> None:
        """Events may have been in the damaged end: their numbers are not used again."""
        self.gaps.note([(self.next, self.next + LEAP - 1)], False, "not used", self._now())
        self.next += LEAP

    # While it runs.

    @property
    def newest(self) -> Partition | None:
        with self._changed:
            return next(reversed(self._partitions.values()), None)

    @property
    def last(self) -> int:
        """The newest number that is written."""
        return self.next - 1

    def partitions(self) -> list[Partition]:
        with self._changed:
            return [*self._partitions.values()]

    def holding(self, sequence: int) -> Partition | None:
        """The first partition with an event past this number."""
        found = (one for one in self.partitions() if one.last >= max(one.first, sequence + 1))
        return next(found, None)

    def add_partition(self) -> Partition:
        made = partition.create(self.folder, self.next)
        with self._changed:
            self._partitions[made.first] = made
        return made

    def grew(self, last: int) -> None:
        """The newest partition holds all to this number now."""
        self.high.raise_to(last)
        with self._changed:
            first = next(reversed(self._partitions))
            self._partitions[first] = self._partitions[first].grown(last)
            self.next = last + 1

    def abandon(self, count: int) -> None:
        """The fate of the next numbers is unknown: they are nobody's."""
        self.gaps.note([(self.next, self.next + count - 1)], False, "not used", self._now())
        with self._changed:
            self.next += count

    def announce(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def wait_past(self, sequence: int, seconds: float) -> None:
        """Until there is an event past this number, somebody announces, or so long."""
        with self._changed:
            if self.next - 1 <= sequence:
                self._changed.wait(seconds)

    def remove(self, gone: Sequence[Partition]) -> None:
        """The state says already that they are done with."""
        with self._changed:
            for one in gone:
                self._partitions.pop(one.first, None)
        for one in gone:
            partition.discard(one.path)

    # Damage.

    def mend(self, broken: Partition, reason: str) -> None:
        """Put what can be rescued in the place of a partition that cannot be read."""
        with self._changed:
            current = self._partitions.get(broken.first)
            if current is None or current.path != broken.path:
                return  # another reader was first
            self._partitions[broken.first] = self._rescued(current, reason)

    def _rescued(self, broken: Partition, reason: str) -> Partition:
        rescued, found, lost = rescue.rescue(self.folder, broken)
        missing = self.note_lost(lost, reason)
        rescue.set_aside(self.folder, broken.path, self.runtime)
        logger.error(
            "%s is damaged, and set aside in damaged/: %d events were rescued, %d are lost (%s)",
            broken.path.name,
            found,
            missing,
            reason,
        )
        return rescued

    def note_lost(self, lost: Sequence[tuple[int, int]], reason: str) -> int:
        """Returns how many are lost that were not known to be: what was sent is no loss."""
        sent = [(first, min(last, self.delivered)) for first, last in lost]
        unsent = [(max(first, self.delivered + 1), last) for first, last in lost]
        self.gaps.note([each for each in sent if each[0] <= each[1]], False, "sent", self._now())
        kept = [each for each in unsent if each[0] <= each[1]]
        return self.gaps.note(kept, True, reason, self._now())

    def _now(self) -> int:
        return int(self.runtime.now().timestamp() * 1000)
