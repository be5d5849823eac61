"""Limits by bytes and age, exact counts, a disk without room, clocks that jump."""

from __future__ import annotations

import os
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.errors import Unavailable
from singerlake.lineage.buffer import Buffer, Limits
from singerlake.lineage.buffer.disk import dead
from singerlake.lineage.buffer.disk.dead import Done, Refusal
from tests.lineage.buffer.folder import SMALL, TO, Clock, event, fill, opened, readable, send_all
from tests.lineage.small_disk import small_disk

pytestmark = pytest.mark.usefixtures("quiet")
AGED = Limits(partition_bytes=30_000, retention_hours=24, free_bytes=0)


def dropped(buffer: Buffer, to: str = TO) -> int:
    return buffer.state.counters().get(("dropped", to), 0)


def test_too_many_bytes_drop_the_oldest_and_count_them(tmp_path: Path) -> None:
    limits = Limits(partition_bytes=30_000, retention_bytes=60_000, free_bytes=0)
    with opened(tmp_path, "a", "b", limits=limits) as buffer:
        fill(buffer, 150)
        send_all(buffer, "b", until=20)
        buffer.keep([])
        left = readable(buffer)
        assert [*left] == list(range(151 - len(left), 151))
        assert 0 < len(left) < 150
        assert dropped(buffer, "a") == 150 - len(left)
        assert dropped(buffer, "b") == 150 - len(left) - 20
        assert buffer.lag("a") == buffer.lag("b") == len(left)
    with opened(tmp_path, "a", "b", limits=limits) as buffer:
        assert dropped(buffer, "a") == 150 - len(left)
        assert [*readable(buffer)] == [*left]
        assert buffer.shelf.gaps.lost == 0  # dropped is not lost
        fill(buffer, 150)
        buffer.keep([])
        assert dropped(buffer, "a") == 300 - buffer.lag("a")


def test_the_current_partition_is_never_dropped(tmp_path: Path) -> None:
    limits = Limits(partition_bytes=10_000_000, retention_bytes=1, free_bytes=0)
    with opened(tmp_path, limits=limits) as buffer:
        fill(buffer, 50)
        buffer.keep([TO])
        assert len(readable(buffer)) == 50


def test_an_event_on_its_way_when_it_is_dropped_is_counted_once(tmp_path: Path) -> None:
    limits = Limits(partition_bytes=30_000, retention_bytes=60_000, free_bytes=0)
    with opened(tmp_path, limits=limits) as buffer:
        fill(buffer, 150)
        buffer.keep([])
        before = dropped(buffer)
        buffer.advance(TO, Done(1, 3, 3))  # they were being sent meanwhile
        assert dropped(buffer) == before - 3
        assert buffer.state.counters()["sent", TO] == 3
        assert buffer.checkpoint(TO) == before
        buffer.advance(TO, Done(before - 1, before + 4, 6))
        assert dropped(buffer) == before - 5
        assert dropped(buffer) + 9 + buffer.lag(TO) == 150


@pytest.mark.parametrize("days", [2, -2])
def test_a_clock_that_jumps_drops_nothing_that_can_be_sent(days: int, tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, limits=AGED, runtime=clock) as buffer:
        fill(buffer, 100)
        clock.set_by = timedelta(days=days)
        buffer.keep([])
        fill(buffer, 12, 101)
        buffer.keep([])
        assert len(readable(buffer)) == 112
        assert dropped(buffer) == 0


def test_thirty_hours_of_downtime_with_a_healthy_backend_drop_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, limits=AGED) as buffer:
        fill(buffer, 100)
    clock = Clock()
    clock.set_by = timedelta(hours=30)
    with opened(tmp_path, limits=AGED, runtime=clock) as buffer:
        buffer.keep([])
        assert len(readable(buffer)) == 100


def test_age_drops_while_sends_fail(tmp_path: Path) -> None:
    """Only what is old, and only where a destination that fails has not got it."""
    clock = Clock()
    with opened(tmp_path, limits=AGED, runtime=clock) as buffer:
        fill(buffer, 100)
        clock.set_by = timedelta(hours=30)
        send_all(buffer)
        buffer.keep([TO])  # it fails, and has everything
        assert dropped(buffer) == 0
        clock.set_by = timedelta()
        fill(buffer, 100, 101)
        clock.set_by = timedelta(hours=20)
        buffer.keep([TO])
        assert dropped(buffer) == 0
        clock.set_by = timedelta(hours=30)
        buffer.keep([TO])
        left = buffer.lag(TO)
        assert 0 < left < 100  # the current partition
        assert dropped(buffer) == 100 - left


def test_age_drops_nothing_that_another_destination_still_waits_for(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, "down", "slow", limits=AGED, runtime=clock) as buffer:
        fill(buffer, 100)
        send_all(buffer, "slow", until=50)
        clock.set_by = timedelta(hours=30)
        buffer.keep(["down"])
        assert dropped(buffer, "slow") == 0
        assert 0 < dropped(buffer, "down") <= 50
        buffer.keep(["down", "slow"])
        assert dropped(buffer, "slow") > 0


def test_an_idle_partition_is_closed_and_collected(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, runtime=clock) as buffer:
        fill(buffer, 5)
        send_all(buffer)
        buffer.keep([])
        assert [one.first for one in buffer.shelf.partitions()] == [1]
        clock.passed = SMALL.partition_hours * 3600
        buffer.keep([])
        assert [one.first for one in buffer.shelf.partitions()] == [6]
        clock.passed *= 2
        buffer.keep([])
        assert [one.first for one in buffer.shelf.partitions()] == [6]  # nothing in it to close
        assert buffer.put([b"{}"]) == [6]


def test_a_disk_without_room_for_a_new_partition_is_freed_of_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every partition is old, so that a new one is due; what was sent has to go all the same."""
    clock = Clock()

    def full() -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with opened(tmp_path, runtime=clock) as buffer:
        fill(buffer, 100)
        send_all(buffer)
        clock.passed = 7200
        with monkeypatch.context() as patch:
            patch.setattr(buffer.shelf, "add_partition", full)
            buffer.keep([])
        assert len(buffer.shelf.partitions()) == 1
        assert buffer.put([b"{}"]) == [101]


def test_dead_letters_are_bounded_and_counted(tmp_path: Path) -> None:
    limits = Limits(dead_bytes=5_000, free_bytes=0)
    with opened(tmp_path, limits=limits) as buffer:
        fill(buffer, 48)
        (first, *_) = buffer.reader().after(0, 48)
        for one in buffer.reader().after(0, 48):
            refused = [(one, Refusal(422, "no"))]
            buffer.advance(TO, Done(one.sequence, one.sequence, 0, refused))
        assert len(dead.letters(buffer.state)) == 48
        buffer.keep([])
        left = dead.letters(buffer.state)
        assert 0 < len(left) < 48
        assert left[-1].event == event(48)
        assert first.sequence not in [one.sequence for one in left]
        assert buffer.state.counters()["dead_dropped", TO] == 48 - len(left)


def filled(buffer: Buffer) -> list[int]:
    """What was acknowledged before the disk was full."""
    numbers: list[int] = []
    for _ in range(1000):
        try:
            numbers += fill(buffer, 12, len(numbers) + 1)
        except Unavailable:
            return numbers
    raise AssertionError("the disk was never full")


@pytest.mark.parametrize("reserve", [0, 100_000], ids=["to the last byte", "with a reserve"])
def test_a_full_disk_refuses_and_recovers_by_itself(reserve: int, tmp_path: Path) -> None:
    limits = Limits(partition_bytes=60_000, free_bytes=reserve)
    with (
        small_disk(tmp_path / "disk", "2m") as disk,
        opened(disk / "buffer", limits=limits) as buffer,
    ):
        numbers = filled(buffer)
        with pytest.raises(Unavailable):
            buffer.put([event(0, 40_000)])
        assert [*readable(buffer)] == numbers  # what was acknowledged is there
        # The backend takes events again: that alone makes room.
        send_all(buffer, until=numbers[-1])
        buffer.keep([])
        fresh = fill(buffer, 24)
        assert fresh[0] == numbers[-1] + 1
        assert [*readable(buffer, numbers[-1])] == fresh
        assert buffer.shelf.gaps.lost == 0


def test_a_disk_filled_by_others_recovers_too(tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", "2m") as disk,
        opened(disk / "buffer", limits=SMALL) as buffer,
    ):
        fill(buffer, 48)
        with (disk / "other").open("wb") as other:
            try:
                while True:
                    os.write(other.fileno(), bytes(4096))
            except OSError:
                pass  # full
        filled(buffer)
        wrote = buffer.shelf.last
        send_all(buffer, until=12)
        (disk / "other").unlink()
        assert fill(buffer, 12) == list(range(wrote + 1, wrote + 13))
        assert len(readable(buffer)) == buffer.shelf.last
