"""Who comes alone is written for at once; who comes together shares a commit; none overtakes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from singerlake.http.answer import Problem
from singerlake.lineage.buffer import Buffer
from singerlake.lineage.buffer.writer import LOOK_EVERY, Writer
from singerlake.lineage.proxy.intake import Intake
from singerlake.lineage.proxy.meters import Meters
from singerlake.lineage.schema.validator import Validator
from singerlake.metrics import Metrics
from tests.lineage.buffer.folder import opened, readable
from tests.lineage.proxy.running import Kept

Written = list[tuple[str, int]]
"""The threads that wrote, and how many events each time."""


@pytest.fixture
def buffer(tmp_path: Path) -> Iterator[Buffer]:
    with opened(tmp_path) as buffer:
        buffer.put([b"first"])  # begins a partition, which takes longer than a commit
        buffer._writer._seconds, buffer._writer._since_look = 0.0, LOOK_EVERY
        yield buffer


@pytest.fixture
def intake(buffer: Buffer, validator: Validator) -> Intake:
    return Intake(buffer, validator, Kept(), Meters(Metrics.create(process=False)))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    found: Written = []
    write = Writer._write

    def noted(self: Writer, events: Sequence[bytes]) -> int:
        found.append((threading.current_thread().name, len(events)))
        return write(self, events)

    monkeypatch.setattr(Writer, "_write", noted)
    return found


LOOP, WRITER = threading.main_thread().name, "singerlake-lineage-writer"


def test_who_comes_alone_is_written_for_at_once(
    intake: Intake, buffer: Buffer, written: Written
) -> None:
    async def one_after_the_other() -> None:
        for number in range(5):
            await intake.keep([b"%d" % number])
            buffer._writer._seconds = 0.0  # a busy machine may be slow

    asyncio.run(one_after_the_other())
    assert written == [(LOOP, 1)] * 5
    assert [*readable(buffer).values()] == [b"first", b"0", b"1", b"2", b"3", b"4"]


def test_who_comes_together_shares_a_commit(
    intake: Intake, buffer: Buffer, written: Written
) -> None:
    async def together() -> None:
        with buffer._writer._turn:
            asked = [asyncio.create_task(intake.keep([b"%d" % number])) for number in range(30)]
            while intake._waiting < 30:
                await asyncio.sleep(0)
        await asyncio.gather(*asked)

    asyncio.run(together())
    assert {thread for thread, _ in written} == {WRITER}
    assert sum(count for _, count in written) == 30
    assert len(written) <= 2
    assert [*readable(buffer).values()][1:] == [b"%d" % number for number in range(30)]


def test_nobody_overtakes_an_event_whose_sender_has_gone(intake: Intake, buffer: Buffer) -> None:
    """It is sent again then: written first, the second copy would stand before what follows, and
    the first after it."""

    async def impatient() -> None:
        with buffer._writer._turn:
            gone = asyncio.create_task(intake.keep([b"gone"]))
            while not intake._waiting:
                await asyncio.sleep(0)
            gone.cancel()
            await asyncio.wait([gone])
            after = asyncio.create_task(intake.keep([b"after"]))
            while intake._waiting < 2:
                await asyncio.sleep(0)
        await after

    asyncio.run(impatient())
    assert [*readable(buffer).values()] == [b"first", b"gone", b"after"]


def test_a_slow_disk_or_a_large_batch_does_not_hold_up_the_loop(
    intake: Intake, buffer: Buffer, written: Written
) -> None:
    async def one(seconds: float, events: list[bytes]) -> None:
        buffer._writer._seconds = seconds
        await intake.keep(events)

    asyncio.run(one(1.0, [b"slow"]))
    asyncio.run(one(0.0, [b"much" * 10_000] * 3))
    assert written == [(WRITER, 1), (WRITER, 3)]


def test_a_new_partition_does_not_hold_up_the_loop(
    intake: Intake, buffer: Buffer, written: Written
) -> None:
    async def one(until_look: int) -> None:
        buffer._writer._seconds, buffer._writer._since_look = 0.0, until_look
        await intake.keep([b"event"])

    for until_look in (2, 1, 0):
        asyncio.run(one(until_look))
    assert written == [(LOOP, 1), (WRITER, 1), (WRITER, 1)]


def test_a_write_that_fails_at_once_is_answered_as_one_that_fails_later(
    intake: Intake, buffer: Buffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Writer, events: Sequence[bytes]) -> int:
        raise OSError("database or disk is full")

    async def refused() -> None:
        with pytest.raises(Problem) as error:
            await intake.keep([b"lost"])
        assert error.value.status == 503
        assert intake.unavailable

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "_write", full)
        asyncio.run(refused())
        buffer._writer._seconds = 1.0
        asyncio.run(refused())
    buffer._writer._seconds = 0.0
    asyncio.run(intake.keep([b"kept"]))
    assert not intake.unavailable
    assert [*readable(buffer).values()] == [b"first", b"kept"]


def test_a_buffer_that_is_closed_takes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as buffer:
        buffer.put([b"first"])
        buffer._writer._seconds = 0.0
    assert buffer.put_now([b"late"]) is None
    assert buffer._writer._connection is None
