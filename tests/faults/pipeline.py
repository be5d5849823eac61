"""A tap and a real target, run after run from the last STATE that came out; and what is then there.

The tap numbers its records and counts how often it sent each, so what the lake holds at the end
can be held against what was sent and what was acknowledged.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from singerlake.lake import CheckReport, Level, LockTimes, check, open_on
from singerlake.store import Store, open_store
from tests.faults.truth import Truth, Violation
from tests.servers import S3Server
from tests.target.driving import PATIENCE, TAP_ID, Running, record, schema, state

STREAMS = ["orders", "customers", "a/b"]
STALE = LockTimes(stale_after=1.0, refresh_every=0.25)
UNLOGGED_RUN = {"run-log-missing", "run-unlogged"}
"""What a target leaves that dies between the document of its run and the row of it."""

LEFTOVERS = {"orphan-file", "orphan-segment", "stale-lock", *UNLOGGED_RUN}
SETTINGS = {
    "max_file_records": 20,
    "commit_interval_seconds": 0.1,
    "lock_stale_after_seconds": STALE.stale_after,
}
NUMBERS = 10**9
"""How many records a tap may number, so that two taps number none alike."""

PAUSE = 0.005


@dataclass(frozen=True)
class Place:
    """Where a lake is."""

    url: str
    storage_options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, server: S3Server, **options: Any) -> Place:
        """A new lake on an S3 server."""
        return cls(f"s3://{server.new_bucket()}/lake", server.storage_options() | options)

    def store(self) -> Store:
        return open_store(self.url, self.storage_options)

    def settings(self) -> dict[str, Any]:
        return SETTINGS | (
            {"storage_options": self.storage_options} if self.storage_options else {}
        )


class Tap:
    """Sends numbered records from where the last STATE says, and a STATE after every few.

    It runs so many records ahead of the last STATE that came out. `size` is that of a record in
    bytes, which do not compress.
    """

    def __init__(self, number: int = 0, ahead: int = 100, size: int = 10) -> None:
        self.first = self.position = number * NUMBERS
        self.truth = Truth()
        self.ahead, self.size = ahead, size

    def feed(self, running: Running, over: threading.Event) -> None:
        """Until it is over, or the target is gone."""
        try:
            for line in self._lines(over):
                running.send_bytes(line)
        except (BrokenPipeError, ValueError):
            pass

    def _lines(self, over: threading.Event) -> Iterator[bytes]:
        begin = at = self.position
        while not over.is_set():
            if at == begin or at % 100 == 0:
                # Every hundred records the schema changes, to and fro.
                more = {f"in_{at // 100 % 2}": {"type": "string"}}
                for stream in STREAMS:
                    yield schema(stream, **more).encode() + b"\n"
            for number in range(at, at + 5):
                self.truth.send([number])
                stream = STREAMS[number % len(STREAMS)]
                yield record(stream, number, text=_text(number, self.size)).encode() + b"\n"
            at += 5
            yield state({"next": at}).encode() + b"\n"
            while at - self.position > self.ahead and not over.wait(PAUSE):
                pass

    def hear(self, line: bytes) -> None:
        """A STATE came out: the next run goes on there."""
        position = json.loads(line)["next"]
        if position < self.position:
            raise Violation(f"ORDER a STATE says {position} after one that said {self.position}")
        self.truth.acknowledge(range(self.position, position))
        self.position = position


class Run:
    """One run of a target, fed until it is over."""

    def __init__(self, running: Running, tap: Tap) -> None:
        self.process, self.log = running.process, running.log
        self.tap = tap
        self.states = 0
        self._running = running
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=tap.feed, args=(running, self._over)),
            threading.Thread(target=self._hear),
        ]
        for thread in self._threads:
            thread.start()

    def _hear(self) -> None:
        for line in self._running.output:
            if line.endswith(b"\n"):  # one that was torn is no STATE
                self.tap.hear(line)
                self.states += 1

    def wait_for_states(self, count: int) -> None:
        """So many more, while it runs."""
        wanted, deadline = self.states + count, time.monotonic() + PATIENCE
        while self.states < wanted:
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.005)

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def end(self) -> int:
        """The tap has no more to send; returns the exit code."""
        self._over.set()
        self._threads[0].join()
        with contextlib.suppress(BrokenPipeError):
            self._running.input.close()
        code = self.process.wait(PATIENCE)
        self.close()
        return code

    def close(self) -> None:
        self._over.set()
        self.process.wait()
        for thread in self._threads:
            thread.join()


Start = Callable[..., AbstractContextManager[Running]]


@contextmanager
def running(start: Start, place: Place, tap: Tap, **more: Any) -> Iterator[Run]:
    """A run of a target that `start` starts; killed at the end if it still runs."""
    with start(place.url, **place.settings() | more) as target:
        run = Run(target, tap)
        try:
            yield run
        finally:
            run.resume()
            run.kill()


def finish(start: Start, place: Place, tap: Tap) -> None:
    """A last run to which nothing happens: what was ever sent is acknowledged by its end."""
    sent = max(tap.truth.sent, default=tap.first) + 1
    with running(start, place, tap) as run:
        while tap.position < sent:
            run.wait_for_states(1)
        assert run.end() == 0, run.log()


def require_kept(place: Place, *taps: Tap, leftovers: set[str] = LEFTOVERS) -> int:
    """Nothing is lost, torn or there more often than it was sent, and the lake can be cleaned.

    Raises `Violation`; returns how many records are there again because of a replay.
    """
    truth = Truth()
    for tap in taps:
        truth.sent.update(tap.truth.sent)
        truth.acknowledged |= tap.truth.acknowledged
    store = place.store()
    there = list(_numbers(store))
    replays = truth.require(there)
    _require_clean(check(store, fix=True, times=STALE), leftovers)
    _require_clean(check(store, times=STALE), set())
    # The fix may have committed what a killed target had uploaded.
    return max(replays, truth.require(_numbers(store)))


def _numbers(store: Store) -> Iterator[int]:
    lake = open_on(store)
    for at, name in enumerate(STREAMS):
        for each in lake.stream(TAP_ID, name).snapshot().records():
            number = each["id"]
            text = _text(number, len(each.get("text", "")) // 2)
            if each != {"id": number, "text": text} or number % len(STREAMS) != at:
                raise Violation(f"TORN {each} in {name}")
            yield number


def _require_clean(report: CheckReport, leftovers: set[str]) -> None:
    if bad := [row for row in report.findings if row.level is Level.ERROR]:
        raise Violation(f"DAMAGED {bad}")
    codes = {row.code for row in report.findings if row.level is Level.LEFTOVER}
    if codes - leftovers:
        raise Violation(f"LEFT {sorted(codes - leftovers)}")


def _text(number: int, size: int) -> str:
    return random.Random(number).randbytes(size).hex()


def lake_folder(folder: Path) -> Place:
    return Place(str(folder / "lake"))
