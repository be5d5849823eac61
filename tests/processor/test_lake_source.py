"""A lake as a source: each commit once and in order, whatever happens to lake and engine."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from singerlake import check, rebuild
from singerlake.cli.process.job import choice as jobs
from singerlake.errors import ConfigError, Later, NotFound, PermissionDenied
from singerlake.format.consumer_keys import consumer
from singerlake.format.keys import StreamKeys
from singerlake.lake import Lake, open_on
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.event import Committed
from singerlake.lake.feed.options import FeedOptions
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.processor import Engine, Event, LakeSource, MemoryEngine, Processor, lake_position
from singerlake.processor import outage as outages
from singerlake.processor.observer import Observer
from singerlake.store import LocalStore
from tests.lake.continuing import begin_anew
from tests.lake.landing import TAP
from tests.lake.running import Running
from tests.processor.running import running, until

OPTIONS = FeedOptions(poll_seconds=0.02, idle_seconds=0.02)
KEY = f"{TAP}/orders"


class Ground:
    """A lake, and a job that notes the sequences that it gets."""

    def __init__(self, root: Path) -> None:
        self.store = LocalStore(root)
        self.lake = open_on(self.store, create=True)
        self.runs = 0
        self.seen: dict[str, list[int]] = defaultdict(list)
        self.events: list[Event] = []

    def commit(self, count: int = 1, stream: str = "orders") -> None:
        self.runs += 1
        run = Running(self.store, f"r-{self.runs}", stream)
        for number in range(count):
            run.commit([self.runs * 1000 + number])
        run.end()

    def job(self, event: Event) -> None:
        self.seen[event.key].append(event.sequence)
        self.events.append(event)

    def source(self, **options: Any) -> LakeSource:
        return LakeSource(self.lake, options=OPTIONS, **options)

    @contextmanager
    def processing(self, engine: Engine, **options: Any) -> Iterator[Processor]:
        processor = Processor(engine, self.job, source=self.source(**options), grace=30)
        with running(processor):
            yield processor

    def has(self, *sequences: int, key: str = KEY) -> None:
        until(lambda: len(self.seen[key]) >= len(sequences))
        assert self.seen[key] == [*sequences]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "lake")


def test_commits_become_events_with_their_stream_as_key(ground: Ground) -> None:
    ground.commit(2)
    ground.commit(1, "people")
    with ground.processing(MemoryEngine()):
        ground.has(1, 2)
        ground.has(1, key=f"{TAP}/people")
        ground.commit(2)
        ground.has(1, 2, 3, 4)
    value = ground.events[0].value
    assert (value["tap"], value["records"], value["last_sequence"]) == (TAP, 1, 1)
    assert ground.events[0].log_id == value["log_id"]
    assert "path" not in json.dumps(value)


def test_two_pollers_hand_over_nothing_twice(ground: Ground) -> None:
    engine = MemoryEngine()
    processors = [Processor(engine, ground.job, source=ground.source(), grace=30) for _ in range(2)]
    with running(*processors):
        for _ in range(5):
            ground.commit(3)
        until(lambda: len(ground.seen[KEY]) >= 15)
    assert ground.seen[KEY] == list(range(1, 16))


def test_an_emptied_engine_goes_on_where_the_lake_has_it(ground: Ground) -> None:
    ground.commit(3)
    with ground.processing(MemoryEngine()):
        ground.has(1, 2, 3)
    ground.commit(1)
    with ground.processing(MemoryEngine()):
        ground.has(1, 2, 3, 4)
    assert check(ground.store).clean


def test_what_is_not_processed_is_not_saved_as_such(ground: Ground) -> None:
    ground.commit(3)
    engine = MemoryEngine()

    def fail(event: Event) -> None:
        if event.sequence == 2:
            raise ValueError("no")

    processor = Processor(
        engine, fail, source=ground.source(), max_deliveries=1, outage_keys=100, grace=30
    )
    with running(processor):
        until(engine.dead)
    saved = lake_position.read(ground.lake, "processor").bookmarks[TAP, "orders"]
    assert saved.sequence == 1
    with ground.processing(MemoryEngine()):
        ground.has(2, 3)


@pytest.mark.parametrize(
    ("begin", "expected"), [("start", [1, 2, 3]), ("now", [3]), ("mark", [2, 3])]
)
def test_where_to_begin(ground: Ground, begin: str, expected: list[int]) -> None:
    ground.commit(1)
    ground.lake.pin("mark")
    ground.commit(1)
    engine = MemoryEngine()
    with ground.processing(engine, begin=begin):
        until(lambda: engine.places("processor").get("_lake/processor"))
        ground.commit(1)
        ground.has(*expected)


def test_an_unknown_beginning_is_refused(ground: Ground) -> None:
    processor = Processor(MemoryEngine(), ground.job, source=ground.source(begin="nowhere"))
    with pytest.raises(ConfigError, match="nowhere"):
        processor.run()


def test_a_full_backlog_holds_the_feed_back(ground: Ground) -> None:
    ground.commit(12)
    engine = MemoryEngine(backlog=5)
    waiting: list[int] = []

    def job(event: Event) -> None:
        waiting.append(engine.look(KEY).waiting)
        ground.job(event)

    processor = Processor(engine, job, source=ground.source(), batch=1, grace=30)
    with running(processor):
        ground.has(*range(1, 13))
    assert max(waiting) <= 5


def test_vacuum_and_purge_change_nothing(ground: Ground) -> None:
    keys = StreamKeys(TAP, "orders")
    with ground.processing(MemoryEngine()):
        for count in range(1, 5):
            ground.commit(2)
            vacuum(ground.store, keys, VacuumOptions())
            purge(ground.store, keys, timedelta(0))
            until(lambda count=count: len(ground.seen[KEY]) == 2 * count)
    assert ground.seen[KEY] == list(range(1, 9))


def test_a_rebuild_keeps_the_numbers(ground: Ground) -> None:
    ground.commit(3)
    with ground.processing(MemoryEngine()):
        ground.has(1, 2, 3)
        rebuild(ground.store)
        ground.commit(1)
        ground.has(1, 2, 3, 4)


def test_a_new_log_stops_its_key_until_somebody_accepts_it(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    ground.commit(2)
    engine = MemoryEngine()
    with ground.processing(engine):
        ground.has(1, 2)
        old = ground.events[0].log_id
        ground.store.delete(StreamKeys(TAP, "orders").manifest)
        rebuild(ground.store)
        until(lambda: engine.look(KEY).status == "paused")
        until(lambda: "is stopped" in caplog.text)
        ground.commit(1)
        ground.commit(1, "people")
        ground.has(1, key=f"{TAP}/people")  # the others go on
        assert ground.seen[KEY] == [1, 2]
        assert engine.look(KEY).reason.startswith("renumbered ")
        assert engine.resume(KEY)
        until(lambda: len({event.sequence for event in ground.events[2:]}) >= 3)
    new = [event for event in ground.events if event.key == KEY and event.log_id != old]
    assert sum(event.value["records"] for event in new) == 3


def test_a_restored_manifest_stops_its_key(ground: Ground) -> None:
    ground.commit(2)
    manifest = StreamKeys(TAP, "orders").manifest
    backup = ground.store.read(manifest).data
    ground.commit(2)
    engine = MemoryEngine()
    with ground.processing(engine):
        ground.has(1, 2, 3, 4)
        ground.store.replace(manifest, backup, ground.store.read(manifest).version)
        until(lambda: engine.look(KEY).status == "paused")
        assert "restored@4" in engine.look(KEY).reason
        assert engine.resume(KEY)
        until(lambda: ground.seen[KEY][4:6] == [1, 2])


def test_a_pause_by_hand_does_not_accept_a_new_log(ground: Ground) -> None:
    ground.commit(2)
    engine = MemoryEngine()
    with ground.processing(engine):
        ground.has(1, 2)
        ground.store.delete(StreamKeys(TAP, "orders").manifest)
        rebuild(ground.store)
        until(lambda: engine.look(KEY).status == "paused")
        engine.pause(KEY, "by hand")  # as a dead letter does that comes at the same time
        engine.resume(KEY)
        until(lambda: engine.look(KEY).reason.startswith("renumbered "))
        assert ground.seen[KEY] == [1, 2]


def test_an_outage_ends_however_often_the_lake_is_polled(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "FIRST_PROBE", 0.05)  # polls come more often than probes
    monkeypatch.setattr(outages, "LONGEST_PROBE", 0.05)
    is_down = threading.Event()
    is_down.set()
    for number in range(6):
        ground.commit(1, f"s{number}")

    def job(event: Event) -> None:
        if is_down.is_set():
            raise ConnectionError("the database is away")
        ground.job(event)

    engine = MemoryEngine()
    processor = Processor(engine, job, source=ground.source(), backoff=0.01, max_deliveries=3)
    with running(processor):
        until(lambda: processor.outage.lasts and source_of(processor).polls > 5)
        is_down.clear()
        until(lambda: len(ground.events) == 6)
    assert engine.dead() == []


def test_at_most_once_goes_on_polling(ground: Ground, caplog: pytest.LogCaptureFixture) -> None:
    processor = Processor(MemoryEngine(), ground.job, source=ground.source(), at_most_once=True)
    with running(processor):
        until(lambda: source_of(processor).polls > 3)
        ground.commit(2)
        ground.has(1, 2)
    assert "forgotten" not in caplog.text


@pytest.mark.parametrize("begin", [None, "now"])
def test_a_lake_that_may_only_be_read_is_polled(
    ground: Ground, begin: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(lake: Lake, name: str, cursor: Any) -> None:
        raise PermissionDenied("read only")

    monkeypatch.setattr(lake_position, "save", save)
    with ground.processing(MemoryEngine(), begin=begin) as processor:
        until(lambda: source_of(processor).polls > 1)
        ground.commit(1)
        ground.has(1)


def source_of(processor: Processor) -> LakeSource:
    assert processor.source is not None
    return processor.source


def test_only_some_streams(ground: Ground) -> None:
    ground.commit(1)
    ground.commit(1, "people")
    with ground.processing(MemoryEngine(), taps=[TAP], streams=["people"]):
        ground.has(1, key=f"{TAP}/people")
    assert KEY not in ground.seen


def test_the_position_is_saved_at_most_once_a_minute(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[Any] = []

    def save(lake: Lake, name: str, cursor: Any) -> None:
        saved.append(cursor)

    monkeypatch.setattr(lake_position, "save", save)
    ground.commit(1)
    with ground.processing(MemoryEngine()) as processor:
        source = processor.source
        assert source is not None
        until(lambda: source.polls > 20)
    assert len(saved) == 2  # at the first poll, and at the end
    with pytest.raises(NotFound):
        ground.store.read("raw/_consumers/processor.json")


def test_a_million_commits_that_wait_are_not_read_ahead(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feed is the only stand-in here: a lake of a million commits takes hours to make."""
    pulled = [0]

    class Endless:
        def poll(self) -> Iterator[Committed]:
            for number in range(1, 1_000_001):
                pulled[0] += 1
                yield Committed(
                    tap=TAP,
                    stream="orders",
                    bookmark=Bookmark("log", number, "digits"),
                    first_sequence=number,
                    last_sequence=number,
                    time=datetime.now(timezone.utc),
                    writer_id="w",
                    run_id="r",
                    versions={},
                    records=1,
                    bytes=1,
                    files=(),
                )

    monkeypatch.setattr(Lake, "feed", lambda *_, **__: Endless())
    engine, source = MemoryEngine(backlog=1000), ground.source()
    source.begin(engine, Observer())
    for _ in range(3):
        with pytest.raises(Later):
            source.poll()
    assert engine.look(KEY).waiting == 1000
    assert pulled[0] <= 3 * 1500


def test_until_idle_ends_beside_another_poller(tmp_path: Path) -> None:
    """Another processor holds the key that polls: what it polls counts, too."""
    ground, engine = Ground(tmp_path), MemoryEngine()
    ground.commit(3)
    with ground.processing(engine) as other:
        until(lambda: other.source is not None and other.source.polls > 2)
        source = LakeSource(ground.lake, options=FeedOptions(poll_seconds=60, idle_seconds=60))
        ending = Processor(engine, ground.job, source=source)
        jobs.stop_when_idle(ending, source)
        source.polls = -1_000_000  # it never polls by itself
        with running(ending):
            until(ending.stopping.is_set)
    ground.has(1, 2, 3)


def test_a_log_that_goes_on_from_another_is_processed_on(ground: Ground) -> None:
    """Also by an engine that has lost everything, from the position that the lake has."""
    engine = MemoryEngine()
    ground.commit(3)
    with ground.processing(engine):
        ground.has(1, 2, 3)
    saved = ground.store.read(consumer("processor"))
    begin_anew(ground.store, 3, StreamKeys(TAP, "orders"))
    ground.commit(2)
    with ground.processing(engine):
        ground.has(1, 2, 3, 4, 5)
    old, new = ground.events[2], ground.events[3]
    assert old.log_id != new.log_id
    assert new.logs[old.log_id] == 3
    ground.store.replace(
        consumer("processor"), saved.data, ground.store.read(consumer("processor")).version
    )
    with ground.processing(MemoryEngine()):
        ground.has(1, 2, 3, 4, 5, 4, 5)
    again = ground.events[-1]
    assert (again.log_id, again.sequence) == (new.log_id, 5)
