"""The buffer as its users see it: put events in, read them in order, say how far each one is."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from singerlake.errors import CorruptFile, Unavailable
from singerlake.lineage.buffer import collection
from singerlake.lineage.buffer.disk import dead, rescue
from singerlake.lineage.buffer.disk.dead import Done
from singerlake.lineage.buffer.disk.layout import STATE, bytes_of
from singerlake.lineage.buffer.disk.owner import Owner
from singerlake.lineage.buffer.disk.partition import Partition
from singerlake.lineage.buffer.disk.state import FLOOR, State, count, set_checkpoint
from singerlake.lineage.buffer.limits import DEFAULTS, Limits
from singerlake.lineage.buffer.reader import Reader
from singerlake.lineage.buffer.shelf import Shelf
from singerlake.lineage.buffer.waiting import Outcome, Request, Waiting
from singerlake.lineage.buffer.writer import Writer
from singerlake.runtime import REAL, Runtime

logger = logging.getLogger(__name__)

TRIM_SECONDS = 60.0


class Buffer:
    """Any thread may use it. One process at a time has it open."""

    def __init__(
        self,
        folder: Path,
        destinations: Collection[str],
        limits: Limits = DEFAULTS,
        runtime: Runtime = REAL,
    ) -> None:
        """Raises `LockTimeout` where another process has it, and `UnsupportedFormat`."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._runtime, self._limits = runtime, limits
        self._trim_at = runtime.monotonic()
        self._owner = Owner(folder, runtime)
        try:
            self.state = _state(folder, runtime)
            before = self.state.checkpoints()
            delivered = min((before.get(name, 0) for name in destinations), default=0)
            self.shelf = Shelf(folder, self.state, limits, runtime, delivered)
            self._lock = threading.Lock()
            self._checkpoints = self._begin(destinations)
            self.shelf.delivered = min(self._checkpoints.values(), default=0)
            self._waiting = Waiting(limits)
            self._writer = Writer(self.shelf, self._waiting)
        except (sqlite3.Error, OSError) as error:
            self._owner.release()
            raise Unavailable(f"{folder}: the buffer cannot be opened now: {error}") from error
        except BaseException:
            self._owner.release()
            raise

    def _begin(self, destinations: Collection[str]) -> dict[str, int]:
        """Where each destination goes on. A new one gets all that is there."""
        floor = (self.state.fact(FLOOR) or 1) - 1
        known = self.state.checkpoints()
        begun = {name: max(known.get(name, floor), floor) for name in destinations}
        with self.state.change(durable=True) as connection:
            for name, sequence in begun.items():
                missed = self._events(known.get(name, sequence) + 1, sequence)
                count(connection, name, {"dropped": missed})
                set_checkpoint(connection, name, sequence)
                if missed:
                    logger.error("%s comes back too late for %d events", name, missed)
        return begun

    # In.

    def submit(self, events: Sequence[bytes], done: Callable[[Outcome], None]) -> None:
        """Write events in one transaction with all that wait; `done` is called once they are safe.

        Raises `BusyError` where too many wait.
        """
        self._waiting.add(Request(events, done))

    def put_now(self, events: Sequence[bytes]) -> Outcome | None:
        """Write events at once, on the thread that asks. None where that has to wait: `submit`.

        For a thread that has nothing under way: its events would overtake those that wait.
        """
        return self._writer.write_now(events)

    def put(self, events: Sequence[bytes]) -> list[int]:
        """The same, for a thread that waits. Raises `Unavailable` and `BusyError`."""
        ended, outcomes = threading.Event(), list[Outcome]()

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            ended.set()

        self.submit(events, done)
        ended.wait()
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]
        return outcomes[0]

    # Out.

    def reader(self) -> Reader:
        return Reader(self.shelf, self.mend)

    def checkpoint(self, destination: str) -> int:
        return self._checkpoints[destination]

    def checkpoints(self) -> Mapping[str, int]:
        return dict(self._checkpoints)

    def advance(self, destination: str, done: Done) -> None:
        """Move a destination's checkpoint past what it is done with."""
        now = int(self._runtime.now().timestamp() * 1000)
        with self._lock:
            before = self._checkpoints[destination]
            with self.state.change() as connection:
                for event, why in done.refused:
                    dead.bury(connection, destination, event, why, now)
                # What a limit dropped while it was on its way was not dropped after all.
                overtaken = self._events(done.first, min(done.last, before))
                count(connection, destination, {"sent": done.sent, "dropped": -overtaken})
                set_checkpoint(connection, destination, max(before, done.last))
            self._checkpoints[destination] = max(before, done.last)
            self.shelf.delivered = min(self._checkpoints.values())

    def _events(self, first: int, last: int) -> int:
        return max(0, last - first + 1 - self.shelf.gaps.between(first, last))

    def lag(self, destination: str) -> int:
        """Events that the destination has not got yet."""
        after = self._checkpoints[destination] + 1
        parts = self.shelf.partitions()
        return sum(self._events(max(one.first, after), one.last) for one in parts)

    def lag_bytes(self, destination: str) -> int:
        """What the partitions that hold those events take up on the disk."""
        checkpoint = self._checkpoints[destination]
        return sum(bytes_of(one.path) for one in self.shelf.partitions() if one.last > checkpoint)

    # Looking after it.

    def keep(self, failing: Collection[str]) -> None:
        """To be called every second or so. `failing`: destinations that have failed for long."""
        try:
            self._writer.rotate_if_old()
        except (sqlite3.Error, OSError) as error:  # a full disk: what comes now may make room
            logger.error("a new partition cannot be begun now: %s", error)
        with self._lock:
            collection.collect(self.shelf, self._checkpoints)
            gone = collection.over_limit(self.shelf, self._ages_to(failing))
            if gone:
                collection.drop(self.shelf, gone, self._checkpoints)
                for name, sequence in self._checkpoints.items():
                    self._checkpoints[name] = max(sequence, gone[-1].last)
        if self._runtime.monotonic() >= self._trim_at:
            self._trim_at = self._runtime.monotonic() + TRIM_SECONDS
            dropped = dead.trim(self.state, self._limits.dead_bytes)
            if dropped:
                logger.error("%d dead letters were dropped: they took up too much", dropped)

    def _ages_to(self, failing: Collection[str]) -> int:
        """Age drops only what somebody fails to take, and nobody else still waits for."""
        if not any(self.lag(name) for name in failing):
            return 0
        others = (at for name, at in self._checkpoints.items() if name not in failing)
        return min(others, default=self.shelf.last)

    def mend(self, broken: Partition, reason: str) -> None:
        """Set a damaged partition aside, and go on with what can be read of it."""
        newest = self.shelf.newest
        if newest is not None and newest.path == broken.path:
            self._writer.rotate()
        self.shelf.mend(broken, reason)

    def close(self) -> None:
        """Write what waits, then let go of the folder."""
        self._writer.close()
        self.state.close()
        self.shelf.high.close()
        self._owner.release()


def _state(folder: Path, runtime: Runtime) -> State:
    """The state; a damaged one is set aside, and all that the buffer holds is sent again."""
    path = folder / STATE
    try:
        return State(path, owned=True)
    except CorruptFile as error:
        rescue.set_aside(folder, path, runtime)
        logger.error(
            "%s It is set aside in damaged/, with counts and dead letters. All events that the "
            "buffer holds are sent again.",
            error,
        )
        return State(path, owned=True)
