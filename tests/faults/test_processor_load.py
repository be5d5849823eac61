"""Processors under what lasts: a million commits that wait, a stuck key, a sink that is away."""

from __future__ import annotations

import json
import resource
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import Later
from singerlake.lake import Lake, open_on
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed
from singerlake.lake.feed.options import FeedOptions
from singerlake.processor import Engine, Event, LakeSource, Processor, open_engine
from singerlake.processor.observer import Observer
from singerlake.store import LocalStore
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.forking import fork
from tests.lake.landing import TAP
from tests.processor.running import running, until
from tests.processor.servers import run_server

SUITE, TEST = "Processor", "tests/faults/test_processor_load.py"
MB = 1_000_000
LONG = scaled(300.0, 1500.0)

COMMITS, BACKLOG = scaled(20_000, 1_000_000), scaled(2_000, 100_000)
WORKER_BYTES = 120 * MB
"""What a worker may grow by."""

SERVER_BYTES = 10 * MB + BACKLOG * 1000
"""An event of a commit has some 500 bytes; a million of them would need five times this."""


class Endless:
    """The feed is the only stand-in here: a lake of a million commits takes hours to make."""

    def __init__(self, cursor: Cursor) -> None:
        known = cursor.bookmarks.get((TAP, "orders"))
        self._at = known.sequence if known is not None else 0

    def poll(self) -> Iterator[Committed]:
        while self._at < COMMITS:
            self._at += 1
            yield Committed(
                tap=TAP,
                stream="orders",
                bookmark=Bookmark("log", self._at, "digits"),
                first_sequence=self._at,
                last_sequence=self._at,
                time=datetime.now(timezone.utc),
                writer_id="writer-0123456789",
                run_id="run-0123456789",
                versions={},
                records=1,
                bytes=1,
                files=(),
            )


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _work_off(url: str, folder: Path) -> None:
    """Polls until the backlog is full, then works all of it off, and notes its memory."""
    Lake.feed = lambda self, cursor, *_, **__: Endless(cursor)  # type: ignore[method-assign,assignment]
    lake = open_on(LocalStore(folder / "lake"), create=True)
    engine = open_engine(url, backlog=BACKLOG)
    before = _memory()
    options = FeedOptions(poll_seconds=0.05, idle_seconds=0.05)
    source, found = LakeSource(lake, options=options), dict[str, Any]()
    source.begin(engine, Observer())
    for _ in range(3):
        try:
            source.poll()
        except Later:
            found["waiting"] = engine.look(f"{TAP}/orders").waiting
    found["worker, full backlog"] = _memory() - before
    last, inversions = [0], [0]

    class Job:
        def process_events(self, key: str, events: Sequence[Event]) -> None:
            for event in events:
                inversions[0] += event.sequence != last[0] + 1
                last[0] = event.sequence

    processor = Processor(engine, Job(), 2, source=LakeSource(lake, options=options), batch=1000)
    with running(processor):
        until(lambda: last[0] >= COMMITS, LONG)
    found |= {"inversions": inversions[0], "worker": _memory() - before}
    (folder / "found").write_text(json.dumps(found))


@pytest.mark.slow
@pytest.mark.timeout(2 * LONG)
def test_the_memory_of_a_million_commits_that_wait_is_bounded(tmp_path: Path) -> None:
    with run_server() as server:
        process = fork.Process(target=_work_off, args=(server.url, tmp_path))
        process.start()
        process.join(2 * LONG)
        peak = int(server.client().info("memory")["used_memory_peak"])
    assert process.exitcode == 0
    found = json.loads((tmp_path / "found").read_text())
    line = Line(
        SUITE,
        f"{COMMITS:,} commits wait, {BACKLOG:,} in the engine",
        TEST,
        bounds=f"server {peak / MB:.0f} MB, worker {found['worker'] / MB:.0f} MB more",
    )
    line.runs = COMMITS
    line.violations = found["inversions"] + (peak > SERVER_BYTES) + (found["worker"] > WORKER_BYTES)
    line.keep()
    assert found["waiting"] == BACKLOG
    assert found["inversions"] == 0
    assert peak < SERVER_BYTES
    assert found["worker"] < WORKER_BYTES


KEYS = scaled(500, 10_000)


def _delays(engine: Engine, stuck: bool) -> list[float]:
    """Milliseconds from `add` to the start of the job, an event for each key."""
    taken: list[float] = []
    began, let_go = threading.Event(), threading.Event()

    def job(event: Event) -> None:
        if event.key == "stuck":
            began.set()
            let_go.wait()
        else:
            taken.append(1000 * (time.time() - event.value))

    with running(Processor(engine, job, 8, grace=0.0)):
        if stuck:
            engine.add_many("stuck", list(range(100)))
            assert began.wait(LONG)
        for number in range(KEYS):
            engine.add(f"k{number}", time.time())
            time.sleep(0.002)
        until(lambda: len(taken) == KEYS, LONG)
        let_go.set()
    return sorted(taken)


@pytest.mark.slow
@pytest.mark.timeout(3 * LONG)
def test_the_delay_of_other_keys_beside_one_that_is_stuck() -> None:
    """In turns, and the best of three: a busy moment must not fall on one of them alone."""
    p99: dict[bool, list[float]] = defaultdict(list)
    for number in range(scaled(1, 3)):
        for stuck in (False, True):
            with run_server() as server, open_engine(server.url) as engine:
                found = _delays(engine, stuck)
            p99[stuck].append(found[int(len(found) * 0.99)])
            assert statistics.median(found) < 1000, number
    alone, beside = min(p99[False]), min(p99[True])
    bounds = f"p99 {beside:.1f} ms, without it {alone:.1f} ms"
    line = Line(SUITE, f"one stuck key among {KEYS:,}", TEST, bounds=bounds)
    line.runs = KEYS
    most = scaled(100 * alone + 1000, 1.5 * alone + 5)  # a busy machine measures nothing
    line.violations = int(beside > most)
    line.keep()
    assert beside < most


AWAY = scaled(2.0, 60.0)


@pytest.mark.slow
@pytest.mark.timeout(2 * LONG)
@pytest.mark.parametrize("keys", [30, 2])
def test_a_sink_that_is_away_makes_no_dead_letter(keys: int, tmp_path: Path) -> None:
    """With few keys its failures are no outage: then there have to be attempts enough."""
    line = Line(SUITE, f"the sink is away for {AWAY:.0f} s, {keys} keys", TEST)
    options = {"max_deliveries": 2, "backoff": 0.05} if keys > 5 else {}
    with run_server(None, "--appendonly", "yes", "--appendfsync", "always") as sink:

        def job(event: Event) -> None:
            with sink.client(socket_timeout=1, retry=None) as database:
                database.rpush(event.key, event.value)

        engine = open_engine(f"sqlite:///{tmp_path}/work.db?synchronous=normal")
        names, added = [f"k{number}" for number in range(keys)], 0
        processor = Processor(engine, job, **options)
        with running(processor):
            end = 0.0
            while not end or time.monotonic() < end:
                for name in names:
                    engine.add(name, added)
                added += 1
                if added == 3:
                    sink.kill()
                    end = time.monotonic() + AWAY
                time.sleep(AWAY / 20)
            assert engine.dead() == []
            sink.start()
            until(lambda: not any(state.waiting for state in engine.states()), LONG)
        with sink.client() as database:
            found = {name: [int(one) for one in database.lrange(name, 0, -1)] for name in names}
        line.runs, line.faults = keys * added, 1
        line.replays = sum(len(one) - len(set(one)) for one in found.values())
        wrong = sum(sorted(set(one)) != list(range(added)) for one in found.values())
        line.violations = wrong + len(engine.dead())
        line.keep()
        assert wrong == 0
        assert engine.dead() == []
        assert processor.observer.counts["outages"] > 0 or keys <= 5
