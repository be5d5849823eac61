"""Jobs on events: every behaviour of a processor, on the embedded engine and on a server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

from singerlake.errors import ConfigError, Fenced, Later
from singerlake.processor import Engine, Event, MemoryEngine, Processor, open_engine
from singerlake.processor import outage as outages
from tests.processor.conftest import new_namespace
from tests.processor.running import running, until
from tests.processor.servers import Server


@pytest.fixture(params=["memory", "valkey"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "memory":
        return MemoryEngine()
    server: Server = request.getfixturevalue("valkey")
    return open_engine(server.url, namespace=new_namespace())


class Seen:
    """A job that notes what it gets, in order, by key."""

    def __init__(self) -> None:
        self.values: dict[str, list[Any]] = defaultdict(list)
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.values[event.key].append(event.value)
        self.events.append(event)

    @property
    def count(self) -> int:
        return len(self.events)


def test_events_of_many_keys_are_each_processed_once_and_in_order(engine: Engine) -> None:
    seen, active = Seen(), set()
    overlaps = []

    def job(event: Event) -> None:
        if event.key in active:
            overlaps.append(event.key)
        active.add(event.key)
        seen(event)
        active.discard(event.key)

    processors = [Processor(engine, job, concurrency=3, batch=7) for _ in range(2)]
    with running(*processors):
        for number in range(40):
            for key in ("a", "b", "c", "d", "e"):
                engine.add(key, number)
        until(lambda: seen.count >= 200)
    assert dict(seen.values) == {key: list(range(40)) for key in "abcde"}
    assert overlaps == []
    assert list(engine.states()) == []
    assert sum(one.observer.counts["done"] for one in processors) == 200


@pytest.mark.parametrize("batch", [1, 100])
def test_a_busy_key_leaves_others_their_turn(engine: Engine, batch: int) -> None:
    """With one slot and a key that never runs dry, all others wait for a slice, not for ever."""
    seen: list[str] = []

    def job(event: Event) -> None:
        seen.append(event.key)
        time.sleep(0.002)

    engine.add_many("busy", list(range(5000)))
    with running(Processor(engine, job, concurrency=1, batch=batch)):
        until(lambda: seen)
        engine.add("quiet", 1)
        until(lambda: "quiet" in seen)
    assert seen.count("busy") < 1000


def test_a_job_that_exits_has_failed(engine: Engine) -> None:
    """`sys.exit` in somebody's function is a failed attempt, and ends no processor."""
    seen = Seen()

    def job(event: Event) -> None:
        if event.key == "exits":
            raise SystemExit(1)
        seen(event)

    with running(Processor(engine, job, max_deliveries=2, backoff=0.01)):
        engine.add("exits", 1)
        until(engine.dead)
        engine.add("k", 1)
        until(lambda: seen.count == 1)
    assert engine.dead()[0].reason == "SystemExit: 1"


def test_an_async_job_that_exits_has_failed(engine: Engine) -> None:
    seen = Seen()

    async def job(event: Event) -> None:
        if event.key == "exits":
            raise SystemExit(1)
        seen(event)

    with running(Processor(engine, job, max_deliveries=2, backoff=0.01)):
        engine.add("exits", 1)
        until(engine.dead)
        engine.add("k", 1)
        until(lambda: seen.count == 1)
    assert "SystemExit: 1" in engine.dead()[0].reason


def test_async_jobs(engine: Engine) -> None:
    seen, most, now = Seen(), [0], [0]

    async def job(event: Event) -> None:
        now[0] += 1
        most[0] = max(most[0], now[0])
        await asyncio.sleep(0.05)
        now[0] -= 1
        seen(event)

    for key in "abcdef":
        engine.add(key, 1)
    with running(Processor(engine, job, concurrency=6)):
        until(lambda: seen.count == 6)
    assert most[0] > 1


def test_batches(engine: Engine) -> None:
    batches: list[list[int]] = []

    class Job:
        def process_events(self, key: str, events: Sequence[Event]) -> None:
            batches.append([event.value for event in events])

    engine.add_many("k", list(range(25)))
    with running(Processor(engine, Job(), batch=10)):
        until(lambda: sum(map(len, batches)) == 25)
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert [number for batch in batches for number in batch] == list(range(25))


def test_a_batch_that_fails_finds_out_which_event_does(engine: Engine) -> None:
    done: list[int] = []

    class Job:
        def process_events(self, key: str, events: Sequence[Event]) -> None:
            if any(event.value == 3 for event in events):
                raise ValueError("3")
            done.extend(event.value for event in events)

    engine.add_many("k", list(range(6)))
    options = {"on_dead": "skip", "max_deliveries": 2, "backoff": 0.01}
    with running(Processor(engine, Job(), batch=10, **options)):
        until(lambda: 5 in done)
    assert done == [0, 1, 2, 4, 5]
    assert [letter.entry.value for letter in engine.dead()] == [b"j3"]


def test_sessions(engine: Engine) -> None:
    calls: list[tuple[str, Any]] = []

    class Job:
        def start(self, key: str) -> None:
            calls.append(("start", key))

        def process_event(self, event: Event) -> bool:
            calls.append(("event", event.value))
            return bool(event.value == "end")

    with running(Processor(engine, Job())):
        for value in (1, "end", 2):
            engine.add("k", value)
        until(lambda: len(calls) == 5)
        engine.add("k", 3)
        until(lambda: len(calls) == 6)
    assert calls == [
        ("start", "k"),
        ("event", 1),
        ("event", "end"),
        ("start", "k"),
        ("event", 2),
        ("event", 3),
    ]


def test_a_failed_event_is_tried_again_before_any_other_of_its_key(engine: Engine) -> None:
    seen, failures = Seen(), [2]

    def job(event: Event) -> None:
        if event.value == 1 and failures[0]:
            failures[0] -= 1
            raise ValueError("not yet")
        seen(event)

    engine.add_many("k", [0, 1, 2])
    processor = Processor(engine, job, backoff=0.02)
    with running(processor):
        until(lambda: seen.count == 3)
    assert seen.values["k"] == [0, 1, 2]
    assert seen.events[1].deliveries == 3
    assert processor.observer.counts["retried"] == 2


def test_poison_becomes_a_dead_letter_and_holds_its_key_alone(engine: Engine) -> None:
    seen = Seen()

    def job(event: Event) -> None:
        if event.value == "poison":
            raise ValueError("no")
        seen(event)

    engine.add_many("bad", ["poison", 1])
    engine.add_many("good", [1, 2, 3])
    with running(Processor(engine, job, backoff=0.01, max_deliveries=3)):
        until(engine.dead)
        until(lambda: seen.count == 3)
        (letter,) = engine.dead()
        assert (letter.key, letter.reason, letter.deliveries) == ("bad", "ValueError: no", 3)
        assert engine.drop("bad", letter.entry.position)
        until(lambda: seen.count == 4)
    assert seen.values == {"good": [1, 2, 3], "bad": [1]}


def test_several_keys_that_fail_are_an_outage(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "FIRST_PROBE", 0.02)
    monkeypatch.setattr(outages, "LONGEST_PROBE", 0.05)
    seen, is_down, calls = Seen(), threading.Event(), [0]
    is_down.set()

    def job(event: Event) -> None:
        calls[0] += 1
        if is_down.is_set():
            raise ConnectionError("the database is away")
        seen(event)

    for number in range(20):
        engine.add(f"k{number}", 1)
    processor = Processor(engine, job, max_deliveries=2, backoff=0.01, outage_keys=3)
    with running(processor):
        until(lambda: processor.outage.lasts)
        until(lambda: calls[0] > 30)
        assert engine.dead() == []
        is_down.clear()
        until(lambda: seen.count == 20)
    assert engine.dead() == []
    assert processor.observer.counts["outages"] >= 1


def test_a_job_that_cancels_itself_has_failed(engine: Engine) -> None:
    async def job(event: Event) -> None:
        raise asyncio.CancelledError

    engine.add("k", 1)
    with running(Processor(engine, job, max_deliveries=2, backoff=0.01)):
        until(engine.dead)
    assert engine.dead()[0].deliveries == 2


def test_later(engine: Engine) -> None:
    seen, asked = Seen(), [0]

    def job(event: Event) -> None:
        asked[0] += 1
        if asked[0] < 4:
            raise Later(0.01)
        seen(event)

    engine.add("k", 1)
    with running(Processor(engine, job, max_deliveries=2)):
        until(lambda: seen.count == 1)
    assert seen.events[0].deliveries == 1


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e30, -1.0])
def test_later_than_any_clock_is_a_fault_of_that_event_alone(
    engine: Engine, seconds: float
) -> None:
    seen = Seen()

    def job(event: Event) -> None:
        if event.key == "bad":
            raise Later(seconds)
        seen(event)

    engine.add("bad", 1)
    engine.add("good", 1)
    with running(Processor(engine, job, max_deliveries=1, backoff=0.01)):
        until(lambda: seen.count == 1 and engine.dead())
    assert "expected 0 to" in engine.dead()[0].reason


def test_at_most_once(engine: Engine) -> None:
    seen = Seen()

    def job(event: Event) -> None:
        seen(event)
        raise ValueError("no")

    engine.add_many("k", [1, 2, 3])
    with running(Processor(engine, job, at_most_once=True)):
        until(lambda: seen.count == 3)
        until(lambda: engine.look("k").status == "idle")
    assert seen.values["k"] == [1, 2, 3]
    assert engine.dead() == []


def test_at_most_once_counts_what_an_outage_costs(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "FIRST_PROBE", 0.02)

    def job(event: Event) -> None:
        raise ConnectionError("the database is away")

    for number in range(4):
        engine.add(f"k{number}", 1)
    processor = Processor(engine, job, at_most_once=True, outage_keys=2)
    with running(processor):
        until(lambda: engine.counts().ready == 0 and engine.counts().leased == 0)
    assert (processor.observer.counts["dead"], processor.observer.counts["later"]) == (4, 0)


def test_stopping_frees_a_key_at_once_and_counts_no_attempt(engine: Engine) -> None:
    began, let_go = threading.Event(), threading.Event()

    def job(event: Event) -> None:
        if event.value == 1:
            began.set()
            let_go.wait(60)

    engine.add_many("k", [0, 1, 2])
    with running(Processor(engine, job, grace=0.05)):
        assert began.wait(60)
    state = engine.look("k")
    assert (state.status, state.waiting, state.deliveries) == ("ready", 2, 0)
    let_go.set()
    seen = Seen()
    with running(Processor(engine, seen)):
        until(lambda: seen.count == 2)
    assert seen.events[0].deliveries == 1


def test_stopping_cancels_async_jobs(engine: Engine) -> None:
    began = threading.Event()

    async def job(event: Event) -> None:
        began.set()
        await asyncio.sleep(600)

    engine.add("k", 1)
    with running(Processor(engine, job, grace=0.05)):
        assert began.wait(60)
    assert (engine.look("k").status, engine.look("k").deliveries) == ("ready", 0)


def test_a_job_that_outlives_its_lease_is_fenced_and_reported(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """As one that holds Python's lock: nothing renews the lease meanwhile."""
    seen, first, second = Seen(), threading.Event(), threading.Event()
    fenced: list[Event] = []

    def slow(event: Event) -> None:
        first.set()
        assert second.wait(60)
        fenced.append(event)
        with pytest.raises(Fenced):
            event.progress(1)

    engine.add("k", 1)
    late = Processor(engine, slow, concurrency=1, lease=0.3, grace=30)
    late.renewal.hold = lambda lease: None  # type: ignore[method-assign]
    with running(late):
        assert first.wait(60)
        with running(Processor(engine, seen, lease=30)):
            until(lambda: seen.count == 1)
            second.set()
            until(lambda: late.observer.counts["fenced"] == 1)
    assert seen.events[0].token > fenced[0].token
    assert "lease of 0.3 s was lost" in caplog.text


def test_a_long_job_keeps_its_lease(engine: Engine) -> None:
    seen = Seen()

    def job(event: Event) -> None:
        time.sleep(1.0)
        assert not event.lost
        seen(event)

    engine.add("k", 1)
    processors = [Processor(engine, job, lease=0.6), Processor(engine, job, lease=0.6)]
    with running(*processors):
        until(lambda: seen.count == 1)
    assert [one.observer.counts["fenced"] for one in processors] == [0, 0]


def test_coalescing(engine: Engine) -> None:
    seen = Seen()
    engine.add_many("k", list(range(40)))
    with running(Processor(engine, seen, coalesce=True)):
        until(lambda: seen.count == 1)
        until(lambda: engine.look("k").waiting == 0)
    assert (seen.events[0].value, seen.events[0].coalesced) == (39, 39)


def test_progress_of_a_coalesced_event_survives_a_retry(engine: Engine) -> None:
    found = []

    def job(event: Event) -> None:
        found.append(event.progressed)
        if len(found) == 1:
            event.progress("half")
            raise ValueError("no")

    engine.add_many("k", [1, 2, 3])
    with running(Processor(engine, job, coalesce=True, backoff=0.01)):
        until(lambda: engine.look("k").status == "idle" and len(found) == 2)
    assert found == [None, "half"]


def test_values_of_a_key_and_progress(engine: Engine) -> None:
    totals: list[Any] = []
    resumed: list[Any] = []

    def job(event: Event) -> None:
        if event.deliveries == 1 and event.value == 2:
            event.progress({"half": True})
            raise ValueError("no")
        resumed.append(event.progressed)
        event.keep((event.state or 0) + event.value)
        totals.append(event.state)

    engine.add_many("k", [1, 2, 3])
    with running(Processor(engine, job, backoff=0.01)):
        until(lambda: len(totals) == 3)
    assert totals == [1, 3, 6]
    assert resumed == [None, {"half": True}, None]


def test_scheduled_events_come_in_time(engine: Engine) -> None:
    lateness: list[float] = []

    def job(event: Event) -> None:
        lateness.append(time.time() - event.value)

    with running(Processor(engine, job)):
        for number in range(5):
            due = time.time() + 0.3 + number / 10
            engine.add(f"k{number}", due, delay=due - time.time())
        until(lambda: len(lateness) == 5)
    assert min(lateness) > -0.01


def test_an_idle_processor_asks_seldom(valkey: Server) -> None:
    engine = open_engine(valkey.url, namespace=new_namespace())
    seen = Seen()
    with running(Processor(engine, seen)):
        engine.add("k", 1)
        until(lambda: seen.count == 1)
        client = valkey.client()
        time.sleep(0.3)
        before = client.info("stats")["total_commands_processed"]
        time.sleep(3)
        asked = client.info("stats")["total_commands_processed"] - before
    assert asked <= 12  # and one turn of the engine is several commands within one request


@pytest.mark.parametrize("job", [None, 7, object()])
def test_what_is_no_job_is_refused(job: object) -> None:
    with pytest.raises(ConfigError, match="expected a job"):
        Processor(MemoryEngine(), job)


@pytest.mark.parametrize(
    "options", [{"concurrency": 0}, {"lease": 0}, {"nonsense": 1}, {"batch": 10_000}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Processor(MemoryEngine(), print, **options)


def test_a_key_that_waits_for_a_stopped_processor_is_free_at_once(engine: Engine) -> None:
    began, let_go = threading.Event(), threading.Event()

    def job(event: Event) -> None:
        began.set()
        let_go.wait(60)

    engine.add("k", 1)
    with running(Processor(engine, job, sticky=60, lease=600, grace=0.05)):
        assert began.wait(60)
    let_go.set()
    assert engine.counts().ready == 1  # in the line for all, before anybody looks


def test_a_processor_that_stops_leaves_its_keys_to_others(engine: Engine) -> None:
    seen = Seen()

    class Job:
        def start(self, key: str) -> None: ...

        def process_event(self, event: Event) -> None:
            seen(event)

    engine.add("k", 1)
    with running(Processor(engine, Job(), lease=600)):
        until(lambda: seen.count == 1)
    engine.add("k", 2)
    with running(Processor(engine, Job(), lease=600)):
        until(lambda: seen.count == 2)
