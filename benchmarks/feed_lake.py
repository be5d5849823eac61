"""Lakes of many idle streams and a few busy ones, and a consumer whose time we move."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.streams import SCHEMA, lines, make
from singerlake.format import catalogue, run_log
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.lake import open_on, registry
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed, Event
from singerlake.lake.feed.feed import Feed
from singerlake.lake.feed.follower import Follower
from singerlake.lake.feed.options import DEFAULTS
from singerlake.lake.runs import log as run_logs
from singerlake.lake.writer import Writer
from singerlake.runtime import REAL, Runtime
from singerlake.store import Store

BUSY = 10
FILES = 10
DOCUMENTS = 2
"""A tap has a catalogue and a run log, which a poll asks for too."""

_AT_ONCE = 16
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Streams:
    """The streams of one tap, of which the last are busy: each with the log of ten files."""

    store: Store
    tap: str
    names: list[str]

    @property
    def busy(self) -> list[str]:
        return self.names[-BUSY:]

    @property
    def manifests(self) -> list[str]:
        return [StreamKeys(self.tap, name).manifest for name in self.names]

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        with open_on(self.store).writer(self.tap) as writer:
            yield writer


def make_streams(store: Store, idle: int) -> Streams:
    tap = f"tap-bench--{idle}-idle"
    names = [f"orders_{number:05}" for number in range(idle + BUSY)]
    registry.register_taps(store, [tap])
    entries = {name: catalogue.entry(name, SCHEMA) for name in names}
    registry.register_streams(store, tap, entries)
    store.create(RunKeys(tap).log, run_log.encode(run_logs.new(RunKeys(tap))))
    REAL.map(partial(_make, store, tap), names, _AT_ONCE)
    return Streams(store, tap, names)


def _make(store: Store, tap: str, name: str) -> None:
    make(store, name, FILES, tap)


def commit(writer: Writer, names: list[str]) -> None:
    """One commit of one small file in each of these streams."""
    for name in names:
        for line in lines(name, next(_NUMBERS)):
            writer.write(line)
    writer.commit()


class Standing(Runtime):
    """A clock that stands still until it is moved: what is due is then no matter of luck."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


class Consumer:
    """One that reads all streams of a tap, from the first commit on."""

    def __init__(self, store: Store, tap: str) -> None:
        self._clock = Standing()
        self.feed = Feed(Follower(store, DEFAULTS, self._clock), Cursor(), taps=[tap])

    def poll_all(self) -> list[Event]:
        """A poll so late that every stream is due."""
        self._clock.seconds += DEFAULTS.idle_seconds
        return self.poll()

    def poll(self) -> list[Event]:
        events = list(self.feed.poll())
        if other := [event for event in events if not isinstance(event, Committed)]:
            raise AssertionError(f"no commit: {other[0]}")
        return events
