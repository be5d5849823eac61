"""Requests, bytes and time of a feed's polls, in lakes of 10, 1,000 and 10,000 idle streams.

Ten streams more are busy. The idle ones are made by `benchmarks.streams`; commits are real, by the
real writer.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks import feed_delay, feed_limit
from benchmarks.feed_delay import HINTED, POLLED
from benchmarks.feed_lake import BUSY, DOCUMENTS, Consumer, Streams, commit, make_streams
from benchmarks.feed_limit import CLIENT, HTTP, STAT
from benchmarks.result import Cell, Goal, Result, Table
from benchmarks.stores import LOCAL, Metered, Place, places
from singerlake.format import keys as key_names
from singerlake.lake.feed.event import Event
from singerlake.lake.feed.options import DEFAULTS
from singerlake.runtime import REAL
from singerlake.store import Listed
from singerlake.store.disk import SETTLED

ROUNDS = {10: 25, 1_000: 7, 10_000: 3}
"""By the number of idle streams."""

FIRST_ROUNDS = 2
DELAYED = 1_000
"""The idle streams of the lake in which commits and their events are timed."""

NOTHING, NEW, FIRST = "nothing new", f"{BUSY} commits new", "first, from an empty cursor"
HINT, PEER = "after a hint", "GET of every manifest"
MOST_PROCESSOR = 2.5
"""Milliseconds for an idle stream on S3."""


@dataclass(frozen=True)
class _Cost:
    """Seconds, and seconds of this process on all its threads."""

    wall: float
    processor: float
    requests: int
    received: int


class _Costs:
    """By size and kind of poll. The least time counts, and the most requests and bytes."""

    def __init__(self, place: Place) -> None:
        self.store = Metered(place.store)
        self._wire = place.wire
        self._taken: dict[tuple[int, str], list[_Cost]] = {}

    def take(self, size: int, kind: str, work: Callable[[], object]) -> None:
        self.store.reset()
        requests, received = self._counted()
        wall, processor = time.perf_counter(), time.process_time()
        work()
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        requests, received = self._counted()[0] - requests, self._counted()[1] - received
        cost = _Cost(wall, processor, requests, received)
        self._taken.setdefault((size, kind), []).append(cost)

    def __contains__(self, case: tuple[int, str]) -> bool:
        return case in self._taken

    def of(self, size: int, kind: str) -> _Cost:
        taken = self._taken[size, kind]
        return _Cost(
            min(one.wall for one in taken),
            min(one.processor for one in taken),
            max(one.requests for one in taken),
            max(one.received for one in taken),
        )

    def _counted(self) -> tuple[int, int]:
        if self._wire is None:
            return sum(self.store.requests.values()), self.store.bytes_read
        return self._wire.total, self._wire.received


def run() -> Result:
    tables, goals, delays = [], [], []
    with places() as measured_places:
        for place in measured_places:
            costs = _Costs(place)
            for size in ROUNDS:
                streams = make_streams(place.store, size)
                _measure(place, streams, size, costs)
                if size == DELAYED:
                    delays += _delays(place, streams)
            tables.append(_table(place, costs))
            goals += _goals(place, costs)
    columns = ("store", "event", "poll_seconds", "best, s", "median, s")
    title = f"From the commit to its event, among {DELAYED:,} idle streams"
    tables.append(Table(title, columns, delays, text_columns=2))
    rounds = ", ".join(f"{count} of {size:,}" for size, count in ROUNDS.items())
    notes = [
        f"Each lake has {BUSY} busy streams more. A poll asks for every stream once, and for the "
        "tap's catalogue and run log; *bytes* are those of bodies. CPU is that of the client's "
        "process, on all its threads: the server is another one.",
        f"Times are the best of several rounds ({rounds} idle streams; {FIRST_ROUNDS} of a first "
        f"poll). The machine's load was {os.getloadavg()[0]:.1f} when this ended, on "
        f"{os.cpu_count()} cores: if that is far more, seconds tell little.",
        f"The peer, *{PEER}*, is what one has without a feed: all are read through the same store, "
        f"{DEFAULTS.requests} at once, and none is decoded. *{CLIENT}* and *{HTTP}* send the same "
        "conditional requests on one event loop, the latter with signatures made before.",
        f"A commit is seen within `poll_seconds` ({DEFAULTS.poll_seconds:g}) and the time of a "
        "poll, as long as its stream is busy: one that was idle for long is asked for every "
        f"`idle_seconds` ({DEFAULTS.idle_seconds:g}).",
    ]
    return Result(tables, goals, notes)


def _measure(place: Place, streams: Streams, size: int, costs: _Costs) -> None:
    """Kinds of polls take turns, so that a busy moment falls on none of them alone."""
    time.sleep(SETTLED if place.name == LOCAL else 0)  # a file that is new is read again
    for _ in range(FIRST_ROUNDS):
        consumer = Consumer(costs.store, streams.tap)
        costs.take(size, FIRST, partial(_expect, len(streams.names), consumer.poll_all))
    with feed_limit.limits(place, _rows(streams)) as limits:
        for _ in range(ROUNDS[size]):
            costs.take(size, NOTHING, partial(_expect, 0, consumer.poll_all))
            costs.take(size, PEER, partial(_read_all, costs.store, streams.manifests))
            for name, limit in limits.items():
                costs.take(size, name, limit)
    with streams.writer() as writer:
        for number in range(ROUNDS[size]):
            commit(writer, streams.busy)
            costs.take(size, NEW, partial(_expect, BUSY, consumer.poll_all))
            stream = streams.busy[number % BUSY]
            commit(writer, [stream])
            costs.take(size, HINT, partial(_expect, 1, partial(_hinted, consumer, streams, stream)))


def _hinted(consumer: Consumer, streams: Streams, stream: str) -> list[Event]:
    consumer.feed.hint(streams.tap, stream)
    return consumer.poll()


def _expect(count: int, poll: Callable[[], list[Event]]) -> None:
    """What is measured has to be right."""
    if len(events := poll()) != count:
        raise AssertionError(f"expected {count} events, found {len(events)}")


def _read_all(store: Metered, keys: Sequence[str]) -> None:
    REAL.map(store.read, keys, DEFAULTS.requests)


def _rows(streams: Streams) -> list[Listed]:
    wanted, folder = set(streams.manifests), key_names.tap_folder(streams.tap)
    return [row for row in streams.store.list(folder) if row.key in wanted]


def _delays(place: Place, streams: Streams) -> list[list[Cell]]:
    samples = feed_delay.measure(streams)
    return [
        [place.name, kind, DEFAULTS.poll_seconds, samples.best(kind), samples.median(kind)]
        for kind in (POLLED, HINTED)
    ]


def _table(place: Place, costs: _Costs) -> Table:
    rows: list[list[Cell]] = []
    counted, bare = (NOTHING, NEW, HINT, FIRST, PEER), (STAT, CLIENT, HTTP)
    for size, kind in itertools.product(ROUNDS, (*counted, *bare)):
        if (size, kind) not in costs:
            continue
        cost, ours = costs.of(size, kind), costs.of(size, NOTHING)
        rows.append(
            [
                kind,
                size,
                cost.requests if kind in counted else None,
                cost.received if kind in counted else None,
                1000 * cost.wall,
                1000 * cost.processor,
                1000 * cost.processor / (size + BUSY),
                cost.wall / ours.wall,
                cost.processor / ours.processor,
            ]
        )
    columns = (
        "poll",
        "idle streams",
        "requests",
        "bytes",
        "best, ms",
        "CPU, ms",
        "CPU, ms a stream",
        f"of '{NOTHING}'",
        "by CPU",
    )
    return Table(f"Polls, {place.name}", columns, rows)


def _goals(place: Place, costs: _Costs) -> list[Goal]:
    goals = []
    for size in ROUNDS:
        idle, hinted = costs.of(size, NOTHING), costs.of(size, HINT)
        asked = (idle.requests - DOCUMENTS) / (size + BUSY)
        among = f"{place.name}, {size:,} idle streams"
        goals += [
            Goal(f"{among}: requests for each", asked, 1),
            Goal(f"{among}: bytes of bodies", idle.received, 0),
            Goal(f"{among}: requests from a hint to its event", hinted.requests, 1),
        ]
        if place.name != LOCAL and size >= DELAYED:
            spent = 1000 * idle.processor / (size + BUSY)
            goals.append(Goal(f"{among}: CPU for each, ms", spent, MOST_PROCESSOR))
    return goals
