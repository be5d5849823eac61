"""Damaged, truncated, empty and foreign files: set aside, drained around, counted exactly."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from singerlake.errors import Unavailable
from singerlake.lineage.buffer.check import check
from singerlake.lineage.buffer.disk import partition
from singerlake.lineage.buffer.disk.event import Row
from singerlake.lineage.buffer.disk.layout import LAST, STATE, partition_paths
from singerlake.lineage.buffer.survey import survey
from tests.faults.scale import scaled
from tests.lineage.buffer.folder import TO, event, fill, opened, readable, send_all

COUNT = 120
pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path / "buffer") as buffer:
        fill(buffer, COUNT)
    return tmp_path / "buffer"


def partitions(folder: Path) -> list[Path]:
    return [copies[-1] for copies in partition_paths(folder).values()]


def numbers_in(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT sequence FROM events ORDER BY sequence").fetchall()
    connection.close()
    return [number for (number,) in rows]


def drained(folder: Path) -> tuple[set[int], set[int]]:
    """What can be read, and what is counted as lost; the rest of the service works too."""
    with opened(folder) as buffer:
        found = readable(buffer)
        assert all(found[number] == event(number) for number in found if number <= COUNT)
        lost = {
            number
            for gap in buffer.shelf.gaps
            if gap.lost
            for number in range(gap.first, gap.last + 1)
        }
        assert buffer.lag(TO) == len(found)
        (fresh,) = buffer.put([b"{}"])
        assert fresh > COUNT
        assert fresh in readable(buffer)
    assert survey(folder).lost == len(lost)
    return set(found), lost


@pytest.mark.parametrize("which", [0, 1, -1], ids=["oldest", "middle", "newest"])
@pytest.mark.parametrize("how", ["empty", "truncated", "foreign", "text", "deleted"])
def test_a_partition_that_cannot_be_read_is_drained_around(
    how: str, which: int, folder: Path
) -> None:
    path = partitions(folder)[which]
    held = set(numbers_in(path))
    match how:
        case "empty":
            path.write_bytes(b"")
        case "truncated":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        case "foreign":
            path.unlink()
            connection = sqlite3.connect(path)
            connection.execute("CREATE TABLE events(sequence INTEGER PRIMARY KEY, mine TEXT)")
            connection.close()
        case "text":
            path.write_text("not a database, but longer than a header" * 500)
        case "deleted":
            path.unlink()
    found, lost = drained(folder)
    assert found | lost == set(range(1, COUNT + 1))
    assert not found & lost
    assert lost <= held
    assert how == "truncated" or lost == held
    assert how == "deleted" or any(path.name in one.name for one in folder.glob("damaged/*"))
    again, still = drained(folder)
    assert still == lost  # nothing is counted twice
    assert found < again


def test_a_schema_that_is_no_text_is_damage(folder: Path) -> None:
    """SQLite quotes it in its error, which is no UTF-8 then."""
    path = partitions(folder)[0]
    held, raw = set(numbers_in(path)), path.read_bytes()
    assert b"CREATE TABLE events" in raw
    path.write_bytes(raw.replace(b"CREATE TABLE events", b"CREATE \xeeABLE events"))
    found, lost = drained(folder)
    assert lost == held
    assert found | lost == set(range(1, COUNT + 1))


@pytest.mark.parametrize("seed", range(scaled(12, 300)))
def test_flipped_bytes_lose_only_what_they_hit(seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    path = chance.choice(partitions(folder))
    raw = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 3, 20])):
        place = chance.randrange(100, len(raw))
        raw[place] ^= 1 << chance.randrange(8)
    held = set(numbers_in(path))
    path.write_bytes(raw)
    found, lost = drained(folder)
    assert found | lost == set(range(1, COUNT + 1))
    assert not found & lost
    assert lost <= held
    problems = [one for one in check(folder).findings if "damaged/" not in one.file]
    assert all("lost" in one.problem for one in problems)


def test_check_finds_a_flipped_bit_and_changes_nothing(folder: Path) -> None:
    assert check(folder).findings == ()
    assert check(folder).events == COUNT
    path = partitions(folder)[1]
    raw = bytearray(path.read_bytes())
    raw[-100] ^= 0x10  # in the first event: the last page is filled from its end
    path.write_bytes(raw)
    before = {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix == ".db"}
    report = check(folder)
    assert [one.file for one in report.findings] == [path.name]
    assert report.events == COUNT - 1
    assert {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix == ".db"} == before


def test_what_was_sent_is_no_loss(folder: Path) -> None:
    path = partitions(folder)[0]
    held = set(numbers_in(path))
    with opened(folder) as buffer:
        send_all(buffer, until=max(held) - 5)
    path.write_bytes(b"")
    with opened(folder) as buffer:
        assert buffer.shelf.gaps.lost == 5
        assert set(readable(buffer, buffer.checkpoint(TO))) == set(range(max(held) + 1, COUNT + 1))


@pytest.mark.parametrize("content", [b"", b"text" * 5000, None], ids=["empty", "text", "flipped"])
def test_a_damaged_state_is_set_aside_and_all_is_sent_again(
    content: bytes | None, folder: Path
) -> None:
    path = folder / STATE
    with opened(folder) as buffer:
        send_all(buffer, until=50)
    raw = bytearray(path.read_bytes())
    raw[8192:] = bytes(len(raw) - 8192)
    path.write_bytes(raw if content is None else content)
    with opened(folder) as buffer:
        assert buffer.checkpoint(TO) == 0
        assert set(readable(buffer)) == set(range(1, COUNT + 1))
        assert buffer.put([b"{}"]) == [COUNT + 1]
    assert list(folder.glob(f"damaged/*{STATE}"))


def test_a_torn_high_water_mark_is_no_loss(folder: Path) -> None:
    (folder / LAST).write_bytes(b"\x01\x02")
    with opened(folder) as buffer:
        assert buffer.shelf.gaps.lost == 0
        assert buffer.put([b"{}"]) == [COUNT + 1]


def test_damage_while_the_proxy_runs_stops_nothing(folder: Path) -> None:
    """The newest partition too, which is open for writing."""
    with opened(folder) as buffer:
        fill(buffer, 3, COUNT + 1)
        for path in partitions(folder)[1:]:
            raw = bytearray(path.read_bytes())
            raw[8192:] = bytes(len(raw) - 8192)
            path.write_bytes(raw)
        numbers = fill(buffer, 3, COUNT + 4)
        found = set(readable(buffer))
        lost = {n for gap in buffer.shelf.gaps for n in range(gap.first, gap.last + 1) if gap.lost}
        assert set(numbers) <= found
        assert not found & lost
        assert set(range(1, COUNT + 4)) <= found | lost


def test_foreign_files_in_the_folder_are_left_alone(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / "events-1.db").write_text("mine too")
    assert {one.file for one in check(folder).findings} == {"notes.txt", "events-1.db"}
    found, lost = drained(folder)
    assert (len(found), lost) == (COUNT, set())
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_partition_that_is_made_during_a_check_is_not_foreign(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy makes it while the check looks at what is there."""
    real = Path.iterdir
    made = folder / f"events-{COUNT + 1:020d}.db"

    def iterdir(self: Path) -> Iterator[Path]:
        found = list(real(self))
        if self == folder and not made.exists():
            partition.create(folder, COUNT + 1)
        yield from found

    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert check(folder).findings == ()
    assert made.exists()


def test_nobody_asks_for_the_shelf_with_the_state_in_hand(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who mends a partition has the shelf and asks for the state: both would wait for ever."""
    with opened(folder) as buffer:
        send_all(buffer)
        real, free = buffer.shelf.partitions, list[bool]()

        def partitions() -> list[partition.Partition]:
            other = threading.Thread(target=lambda: buffer.state.rows("SELECT 1"), daemon=True)
            other.start()
            other.join(10)
            free.append(not other.is_alive())
            return real()

        monkeypatch.setattr(buffer.shelf, "partitions", partitions)
        buffer.keep([TO])
        assert len(real()) == 1
        assert len(free) > 1
        assert all(free)


@pytest.mark.parametrize("restarted", [False, True])
def test_what_a_failed_commit_left_takes_no_number_from_others(
    restarted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails after the commit; and the state, which should note it, cannot be written."""
    real = partition.append

    def failing(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
        real(connection, rows)
        raise sqlite3.OperationalError("disk I/O error")

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with opened(tmp_path) as buffer:
        buffer.put([b"1", b"2"])
        with monkeypatch.context() as patch:
            patch.setattr(partition, "append", failing)
            patch.setattr(buffer.shelf.gaps, "note", full)
            with pytest.raises(Unavailable):
                buffer.put([b"never acknowledged"])
        assert buffer.put([b"3"]) == [3]
        if not restarted:
            assert readable(buffer) == {1: b"1", 2: b"2", 3: b"3"}
    with opened(tmp_path) as buffer:
        assert readable(buffer) == {1: b"1", 2: b"2", 3: b"3"}
