"""Retries: how often, how long, and what a lost answer comes to."""

from __future__ import annotations

import io
import logging
import pickle
import uuid
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from singerlake.errors import (
    AlreadyExists,
    Changed,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    Unavailable,
)
from singerlake.store import MemoryStore, Retrying, RetryPolicy, StoreWrapper
from tests.store.flaky import BUSY, FAIL, LOSE, Flaky

OURS, THEIRS = b"ours", b"theirs"


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore(uuid.uuid4().hex)


def retrying(flaky: Flaky, attempts: int = 4) -> Retrying:
    return Retrying(flaky, RetryPolicy(attempts), sleep=lambda seconds: None)


def test_waits_longer_each_time_up_to_a_limit(memory: MemoryStore) -> None:
    memory.create("a", OURS)
    slept: list[float] = []
    policy = RetryPolicy(attempts=7, first_delay=1, max_delay=10)
    store = Retrying(Flaky(memory, *[FAIL] * 6), policy, slept.append, lambda: 0.5)
    assert store.read("a").data == OURS
    assert slept == [0.75, 1.5, 3, 6, 7.5, 7.5]


def test_jitter_is_between_half_and_all() -> None:
    policy = RetryPolicy(first_delay=1, max_delay=10)
    assert policy.delay(3, 0.0) == 2
    assert policy.delay(3, 0.999) == pytest.approx(4, abs=0.01)
    assert policy.delay(50, 0.999) < 10


def slept_until_giving_up(store: MemoryStore, chance: float, answered: bool) -> float:
    slept: list[float] = []
    flaky = Flaky(store)
    retrying = Retrying(flaky, sleep=slept.append, chance=lambda: chance)
    if answered:
        with pytest.raises(NotFound):
            retrying.read("a")
    flaky.script = [FAIL] * 99
    with pytest.raises(Unavailable):
        retrying.read("a")
    return sum(slept)


def test_a_store_that_has_answered_before_is_waited_for(memory: MemoryStore) -> None:
    """Long enough for it to start anew after half a minute, while a wrong address is told soon."""
    assert slept_until_giving_up(memory, 0.0, answered=True) > 45
    assert slept_until_giving_up(memory, 1.0, answered=True) < 92
    assert slept_until_giving_up(memory, 1.0, answered=False) < 32


def test_gives_up_and_says_how_often_it_tried(
    memory: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    flaky = Flaky(memory, *[FAIL] * 9)
    with (
        caplog.at_level(logging.INFO, "singerlake.store"),
        pytest.raises(Unavailable, match=r"read: no answer \(gave up after 4 attempts in 0\.\d s"),
    ):
        retrying(flaky).read("a")
    assert flaky.calls == ["read"] * 4
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING", "WARNING"]
    assert "read a: attempt 1 of 4 failed" in caplog.messages[0]


@pytest.mark.parametrize("error", [NotFound("x"), PermissionDenied("x"), Changed("x")])
def test_an_answer_is_not_asked_for_again(memory: MemoryStore, error: Exception) -> None:
    flaky = Flaky(memory, error)
    with pytest.raises(type(error)):
        retrying(flaky).read("a")
    assert flaky.calls == ["read"]


@pytest.mark.parametrize("script", [[LOSE], [FAIL], [LOSE, FAIL], [FAIL, BUSY], [BUSY, LOSE]])
@pytest.mark.parametrize("from_file", [False, True])
def test_create_survives_a_lost_answer(
    memory: MemoryStore, script: list[str], from_file: bool, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OURS)
    version = retrying(Flaky(memory, *script)).create("a", path if from_file else OURS)
    assert memory.read("a").data == OURS
    assert memory.read("a").version == version


@pytest.mark.parametrize("script", [[], [BUSY], [FAIL]])
@pytest.mark.parametrize("theirs", [THEIRS, b"our", b"ours+"])
def test_create_tells_anothers_object_from_ours(
    memory: MemoryStore, script: list[str], theirs: bytes
) -> None:
    memory.create("a", theirs)
    with pytest.raises(AlreadyExists):
        retrying(Flaky(memory, *script)).create("a", OURS)
    assert memory.read("a").data == theirs


def test_an_equal_object_is_a_refusal_where_no_answer_was_lost(memory: MemoryStore) -> None:
    memory.create("a", OURS)
    with pytest.raises(AlreadyExists):
        retrying(Flaky(memory, BUSY)).create("a", OURS)


@pytest.mark.parametrize("script", [[LOSE], [FAIL], [LOSE, BUSY, FAIL]])
def test_replace_survives_a_lost_answer(memory: MemoryStore, script: list[str]) -> None:
    first = memory.create("a", b"first")
    version = retrying(Flaky(memory, *script)).replace("a", OURS, first)
    assert memory.read("a").data == OURS
    assert memory.read("a").version == version


def test_replace_tells_anothers_version_from_ours(memory: MemoryStore) -> None:
    first = memory.create("a", b"first")
    memory.replace("a", THEIRS, first)
    with pytest.raises(Changed):
        retrying(Flaky(memory, FAIL)).replace("a", OURS, first)
    memory.delete("a")
    with pytest.raises(Changed):
        retrying(Flaky(memory, FAIL)).replace("a", OURS, first)


@pytest.mark.parametrize("script", [[LOSE], [FAIL], [LOSE, BUSY]])
def test_delete_if_survives_a_lost_answer(memory: MemoryStore, script: list[str]) -> None:
    version = memory.create("a", OURS)
    retrying(Flaky(memory, *script)).delete_if("a", version)
    with pytest.raises(NotFound):
        memory.read("a")


def test_delete_if_leaves_anothers_object(memory: MemoryStore) -> None:
    version = memory.create("a", OURS)
    memory.replace("a", THEIRS, version)
    with pytest.raises(Changed):
        retrying(Flaky(memory, FAIL)).delete_if("a", version)
    assert memory.read("a").data == THEIRS


@pytest.mark.parametrize("last", [BUSY, PermissionDenied("expired")])
def test_the_outcome_stays_unknown_whatever_fails_later(
    memory: MemoryStore, last: str | Exception
) -> None:
    """The first attempt was applied: no later error may say that it was not."""
    flaky = Flaky(memory, LOSE, *[last] * 3)
    with pytest.raises(OutcomeUnknown, match="create: no answer"):
        retrying(flaky).create("a", OURS)
    assert memory.read("a").data == OURS


class BrokenStreams(StoreWrapper):
    """A stand-in for a store whose streams break off after every 1000 bytes."""

    opened = 0

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        self.opened += 1

        class Broken(io.BytesIO):
            left = 1000

            def read(self, size: int | None = -1, /) -> bytes:
                if self.left <= 0:
                    raise Unavailable("broken off")
                data = super().read(min(self.left, size or 0))
                self.left -= len(data)
                return data

        return cast(BinaryIO, Broken(self.inner.read(key).data))


def test_a_stream_goes_on_where_it_broke_off(memory: MemoryStore) -> None:
    data = bytes(range(250)) * 40
    memory.create("a", data)
    broken = BrokenStreams(memory)
    store = Retrying(broken, RetryPolicy(3), sleep=lambda seconds: None)
    with store.open("a") as file:
        assert file.read() == data
    assert broken.opened > 5


def test_the_policy_survives_pickling(memory: MemoryStore) -> None:
    store = Retrying(memory, RetryPolicy(attempts=2, first_delay=0))
    copy = pickle.loads(pickle.dumps(store))
    copy.inner = Flaky(memory, FAIL, FAIL)
    with pytest.raises(Unavailable, match="2 attempts"):
        copy.read("a")
