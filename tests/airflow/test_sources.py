"""One poll for all waits of a process, and no wait that another's source stops."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from singerlake.airflow import settings
from singerlake.airflow.waiting import sources
from singerlake.airflow.waiting.sources import Sources, shared, source_of
from singerlake.errors import ConfigError, Unavailable
from singerlake.lake import open_lake, open_on
from singerlake.store.counting import Counting
from singerlake.wait import HttpEvent, KafkaEvent, LakeCommit, LakeRun, Wait, Waiter
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import ALWAYS, Awaited
from singerlake.wait.source.base import Answer, Question, Source
from tests.lake.landing import STREAM, TAP, land, new_store

NOW = datetime(2026, 3, 3, tzinfo=timezone.utc)
HERE = Arrival(time=NOW, position={})


class Answering:
    """A source that says what a test told it to, and counts its looks."""

    def __init__(self, answer: Answer | Exception) -> None:
        self.answer, self.looks = answer, 0
        self.gate = threading.Event()
        self.gate.set()

    def anchored(self, event: Any) -> Awaited:
        raise NotImplementedError

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        self.looks += 1
        assert self.gate.wait(60)
        if isinstance(self.answer, Exception) and not isinstance(self.answer, Unavailable):
            raise self.answer
        return [self.answer] * len(questions)

    def close(self) -> None: ...


def asked(post: str) -> Question:
    return Question(HttpEvent(post=post), ALWAYS)


def by_post(**known: Source) -> Sources:
    return Sources(lambda event, interval: (event.post, lambda: known[event.post]))  # type: ignore[attr-defined]


def test_all_who_ask_in_one_moment_are_asked_for_together() -> None:
    source = Answering(HERE)
    desk = by_post(a=source)

    async def everybody() -> list[Any]:
        return await asyncio.gather(*(desk.ask([asked("a")], 1.0) for _ in range(200)))

    answers = asyncio.run(everybody())
    assert [answer for ((_, answer),) in answers] == [HERE] * 200
    assert source.looks == 1


def test_a_source_that_hangs_keeps_nobody_else_waiting() -> None:
    hangs, works = Answering(HERE), Answering(HERE)
    hangs.gate.clear()
    desk = by_post(hangs=hangs, works=works)

    async def ask() -> tuple[list[Any], list[Any]]:
        first = await desk.ask([asked("hangs"), asked("works")], 1.0, patience=0.2)
        hangs.gate.set()
        return first, await desk.ask([asked("hangs")], 1.0)

    first, later = asyncio.run(ask())
    (_, no_answer), (_, answer) = first
    assert isinstance(no_answer, Unavailable)
    assert answer == HERE
    assert later[0][1] == HERE


def test_a_source_that_hangs_for_ever_has_no_growing_queue() -> None:
    hangs = Answering(HERE)
    hangs.gate.clear()
    desk = by_post(hangs=hangs)

    async def ask() -> int:
        for _ in range(20):
            await desk.ask([asked("hangs")], 1.0, patience=0.01)
        await asyncio.sleep(0)
        left = len(desk._desks["hangs"]._waiting)
        hangs.gate.set()
        return left

    assert asyncio.run(ask()) == 0


@pytest.mark.parametrize("error", [Unavailable("away"), RuntimeError("a fault of ours")])
def test_whatever_goes_wrong_is_an_answer(error: Exception) -> None:
    desk = by_post(a=Answering(error))
    ((_, answer),) = asyncio.run(desk.ask([asked("a")], 1.0))
    assert isinstance(answer, Unavailable)
    assert str(error) in str(answer)


def test_a_source_that_cannot_be_opened_is_tried_again() -> None:
    tries: list[int] = []

    def opened() -> Source:
        tries.append(1)
        if len(tries) == 1:
            raise ConfigError("not yet")
        return Answering(HERE)

    desk = Sources(lambda event, interval: ("key", opened))

    async def twice() -> list[Any]:
        return [await desk.ask([asked("a")], 1.0), await desk.ask([asked("a")], 1.0)]

    ((_, first),), ((_, second),) = asyncio.run(twice())
    assert isinstance(first, ConfigError)
    assert second == HERE


def test_many_waits_of_five_streams_cost_five_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = new_store()
    for number in range(5):
        land(inner, [1], stream=f"s{number}")
    store = Counting(inner)
    monkeypatch.setattr(settings, "opened_lake", lambda url: open_on(store))
    waiters = [
        Waiter(Wait(f"w{one}", (LakeCommit(tap=TAP, stream=f"s{one % 5}", since=NOW),), NOW))
        for one in range(200)
    ]

    async def look(desk: Sources) -> int:
        now = datetime.now(timezone.utc)
        questions = [waiter.questions(now) for waiter in waiters]
        answers = await asyncio.gather(*(desk.ask(one, 600.0) for one in questions))
        taken = [waiter.take(answer, now) for waiter, answer in zip(waiters, answers, strict=True)]
        return sum(one.is_done for one in taken)

    async def looks() -> None:
        desk = Sources()
        store.reset()
        await look(desk)
        assert store.counts["read_if_changed"] == 5
        await look(desk)
        assert store.counts["read_if_changed"] == 5  # not due yet

    asyncio.run(looks())


def test_each_lake_and_each_kafka_has_a_desk_of_its_own() -> None:
    kafka = {"bootstrap.servers": "a"}
    events: list[Awaited] = [
        LakeRun(tap=TAP, lake="one"),
        LakeCommit(tap=TAP, stream=STREAM, lake="one"),
        LakeRun(tap=TAP, lake="two"),
        KafkaEvent(topic="t", config=kafka),
        KafkaEvent(topic="u", config=kafka),
        KafkaEvent(topic="t", config={"bootstrap.servers": "b"}),
        HttpEvent(post="p"),
    ]
    assert len({source_of(event, 5.0)[0] for event in events}) == 5


def test_an_event_loop_has_one_set_of_sources() -> None:
    async def both() -> bool:
        return shared() is shared()

    assert asyncio.run(both())
    assert sources.PATIENCE > 0


def test_a_lake_without_an_address_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(settings.ROOT, raising=False)
    with pytest.raises(ConfigError, match="SINGERLAKE_ROOT"):
        settings.opened_lake("")
    monkeypatch.setenv(settings.STORAGE_OPTIONS, '["secret"]')
    with pytest.raises(ConfigError, match="JSON object") as caught:
        settings.opened_lake("memory://x")
    assert "secret" not in str(caught.value)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The extras of Airflow's connections, by a stand-in: here is no Airflow."""
    known: dict[str, Any] = {}

    class NotFound(Exception): ...

    class Hook:
        @staticmethod
        def get_connection(name: str) -> Any:
            if name not in known:
                raise NotFound
            return SimpleNamespace(extra_dejson=known[name])

    modules = {"airflow": SimpleNamespace(), "airflow.sdk": SimpleNamespace(BaseHook=Hook)}
    modules["airflow.exceptions"] = SimpleNamespace(AirflowNotFoundException=NotFound)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return known


def test_a_lake_can_be_a_connection(connections: dict[str, Any], tmp_path: Path) -> None:
    open_lake(tmp_path / "lake", create=True)
    connections["raw"] = {"root": str(tmp_path / "lake"), "storage_options": {}}
    assert settings.opened_lake("airflow://raw").taps() == []


@pytest.mark.parametrize(
    "extra", [None, {}, {"root": 7}, {"root": "/x", "storage_options": ["s3cret"]}]
)
def test_a_connection_that_says_no_lake_is_an_error_that_says_what_to_do(
    connections: dict[str, Any], extra: Any
) -> None:
    if extra is not None:
        connections["raw"] = extra
    with pytest.raises(ConfigError, match="'raw'") as caught:
        settings.opened_lake("airflow://raw")
    assert "s3cret" not in str(caught.value)
