"""Real writers, and a consumer of the feed that is killed again and again: each commit once."""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.errors import BusyError, DamageError, NotFound
from singerlake.format import manifest as manifests
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.lake import Lake
from singerlake.lake.purging import purge
from singerlake.lake.runs import log as run_logs
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import LocalStore, Store
from tests.faults.feed_table import KILLED, TWICE, Row, Table, consume
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Violation
from tests.forking import fork
from tests.lake.landing import TAP, land_each
from tests.lake.running import Running
from tests.lake.test_races import RACING, SMALL_SEGMENTS, Place, ended
from tests.servers import S3Server

SUITE, TEST = "Feed", "tests/faults/test_feed_kills.py"
WRITERS = 8
KILLS = scaled(5, 50)
TAPS = (TAP, "tap-other--tests")
KEYS = [StreamKeys(tap, stream) for tap in TAPS for stream in ("orders", "people")]
GRACE = timedelta(seconds=1)
SIZES = (1_000, 2_000, 4_000, 1_000_000)


def write_until(place: Place, index: int, over: Path) -> None:
    """In a process of its own, as are the next two: runs of a few commits each."""
    manifests.FAN_OUT = SMALL_SEGMENTS
    store, chance = place.store(), random.Random(index)
    number = index * 1_000_000
    while not over.exists():
        keys = chance.choice(KEYS)
        run = Running(store, f"r-{index}-{number}", keys.stream, tap=keys.tap_id)
        for _ in range(chance.randint(1, 4)):
            count = chance.randint(1, 3)
            run.commit(range(number, number + count))
            number += count
            time.sleep(chance.uniform(0.0, 0.2))
        run.end()


def vacuum_until(place: Place, over: Path) -> None:
    manifests.FAN_OUT = SMALL_SEGMENTS
    store, turn = place.store(), 0
    while not over.exists():
        turn += 1
        for keys in KEYS:
            with overtaken():
                vacuum(store, keys, VacuumOptions(target_bytes=SIZES[turn % 4], lock=RACING))
        time.sleep(0.2)


def purge_until(place: Place, over: Path) -> None:
    manifests.FAN_OUT = SMALL_SEGMENTS
    store = place.store()
    while not over.exists():
        for keys in KEYS:
            with overtaken():
                purge(store, keys, GRACE)
        time.sleep(0.2)


def overtaken() -> contextlib.AbstractContextManager[None]:
    """So short a grace takes files from a vacuum that is slow: it comes again."""
    return contextlib.suppress(BusyError, DamageError, NotFound)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_consumer_that_is_killed_has_each_commit_and_each_run_once(
    seaweedfs: S3Server, tmp_path: Path
) -> None:
    line = Line(
        SUITE,
        f"{WRITERS} writers on S3 beside vacuums and purges, the consumer killed",
        TEST,
        faults=KILLS,
        bounds=f"{KILLS} kills",
    )
    place = Place(f"s3://{seaweedfs.new_bucket()}/lake", seaweedfs.storage_options())
    landed, over, path = (tmp_path / name for name in ("landed", "over", "table.db"))
    others = [
        *(fork.Process(target=write_until, args=(place, n, landed)) for n in range(WRITERS)),
        fork.Process(target=vacuum_until, args=(place, landed)),
        fork.Process(target=purge_until, args=(place, landed)),
    ]
    Running(place.store(), "r-0").commit([0])  # the lake is there, and so is this dead run
    with ended(others):
        chance = random.Random(0)
        for number in range(KILLS):
            kill(place, path, over, chance.uniform(0.0, 0.5), at_work=number % 4 > 0)
        reached = len(Table(path).rows("select 1 from commits"))
        landed.touch()
        for process in others:
            process.join(120)
        assert [process.exitcode for process in others] == [0] * len(others)
    over.touch()
    assert consumed(place, path, over) == 0
    line.runs = require_same(place.store(), Table(path))
    assert 0 < reached <= line.runs
    line.keep()


def kill(place: Place, path: Path, over: Path, seconds: float, at_work: bool) -> None:
    """After some time; if `at_work`, counted from when the consumer has written something."""
    table, process = Table(path), fork.Process(target=consume, args=(place, path, over))
    before = table.rows("select * from places")
    with ended([process]):
        deadline = time.monotonic() + 60
        while at_work and table.rows("select * from places") == before:
            assert time.monotonic() < deadline, "the consumer has seen nothing"
            time.sleep(0.01)
        process.join(seconds)
        process.kill()
        process.join()
        assert process.exitcode == -KILLED


def consumed(place: Place, path: Path, over: Path, order: str = "at once", dies: int = 0) -> int:
    """How a consumer ends."""
    process = fork.Process(target=consume, args=(place, path, over, order, dies))
    with ended([process]):
        process.join(300)
    return -1 if process.exitcode is None else process.exitcode


def require_same(store: Store, table: Table) -> int:
    """The table is the lake, each number once; returns how many commits there are."""
    there: list[Row] = []
    for keys in KEYS:
        snapshot = Lake(store).stream(keys.tap_id, keys.stream).snapshot()
        holders = {
            number: file.path
            for file in snapshot.files()
            for number in range(file.lowest_sequence, file.sequence + 1)
        }
        there += [
            (
                *(keys.tap_id, keys.stream, snapshot.manifest.log_id),
                *(row.sequence, row.records, row.run_id, holders[row.sequence]),
            )
            for row in snapshot.commits()
        ]
    compare(table.rows("select * from commits"), there)
    compare(table.rows("select * from runs"), [row for tap in TAPS for row in runs_of(store, tap)])
    return len(there)


def runs_of(store: Store, tap: str) -> list[Row]:
    try:
        log = run_logs.read_head(store, RunKeys(tap)).log
    except NotFound:
        return []
    rows = run_logs.rows(store, RunKeys(tap), log)
    return [(tap, log.log_id, row.number, row.run_id, row.writer_id) for row in rows]


def compare(kept: list[Row], there: list[Row]) -> None:
    if missing := Counter(there) - Counter(kept):
        raise Violation(f"LOST {sorted(missing)[:5]}")
    if more := Counter(kept) - Counter(there):
        raise Violation(f"TWICE {sorted(more)[:5]}")


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("order", "seen"),
    [("at once", "nothing"), ("the effect first", "TWICE"), ("the bookmark first", "LOST")],
)
def test_control_two_transactions_are_seen(order: str, seen: str, tmp_path: Path) -> None:
    """Killed between the two, at the second of four commits; or there are not two."""
    place, over, path = Place(str(tmp_path / "lake")), tmp_path / "over", tmp_path / "table.db"
    store = LocalStore(tmp_path / "lake")
    for keys in KEYS:
        Running(store, f"r-{keys.stream}", keys.stream, tap=keys.tap_id).commit([1])
    land_each(store, [2, 3, 4])
    over.touch()
    found = "nothing"
    died = consumed(place, path, over, order, dies=2)
    if consumed(place, path, over) == TWICE:
        found = "TWICE"
    else:
        try:
            require_same(store, Table(path))
        except Violation as violation:
            found = violation.kind
    if order == "at once":
        assert (died, found) == (0, seen)
        return
    line = Line(SUITE, f"control: {order}", f"{TEST} -k control", runs=1)
    line.control(died == KILLED and found == seen, (order, died, found))
