"""An ingester that is killed at every step of its work: each commit is in the index once."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from singerlake.format.keys import StreamKeys
from singerlake.index.check import check_index
from singerlake.index.export import export_lines
from singerlake.index.ingester import Ingester
from singerlake.index.open import open_index
from singerlake.index.rebuild import rebuild_index
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake, open_lake, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.forking import fork
from tests.index.dying import Killed
from tests.index.places import KINDS, new_url, postgresql
from tests.lake.landing import TAP
from tests.lake.running import Running

__all__ = ["postgresql"]

SUITE, TEST = "Index", "tests/faults/test_index_kills.py"
KEYS = StreamKeys(TAP, "orders")
STEPS = 60
EVERY = {"sqlite": scaled(2, 1), "postgresql": scaled(6, 1), "dynamodb": scaled(6, 1)}
"""Of the steps, one in so many is tried."""


def follow_and_die(lake: str, index: str, step: int, secrets: dict[str, str]) -> None:
    """In a process of its own. It is killed at a step; it ends in peace where there are fewer."""
    os.environ.update(secrets)
    storage = Killed(open_index(index))
    ingester = Ingester(cast(Storage, storage), open_lake(lake))
    storage.left = step
    for _ in range(3):
        ingester.poll()


def ends(lake: Path, index: str, step: int) -> int | None:
    secrets = {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}
    process = fork.Process(target=follow_and_die, args=(str(lake), index, step, secrets))
    process.start()
    process.join(120)
    return process.exitcode


def land(lake: Lake, run: str, first: int, stream: str = "orders") -> None:
    running = Running(lake.store, run, stream, tap=TAP)
    running.commit([first])
    running.commit([first + 1])
    running.end()


def before(lake: Lake) -> None:
    """What the index has read when the ingester begins that will die."""
    land(lake, "r-1", 0)
    land(lake, "r-2", 10, "people")
    land(lake, "r-3", 20, "gone")


def after(lake: Lake) -> None:
    """What it reads then: commits, a vacuum, a loss, new numbers, ends of runs."""
    land(lake, "r-4", 30)
    vacuum(lake.store, KEYS, VacuumOptions(target_bytes=1_000_000))
    purge(lake.store, KEYS, timedelta(0), abandoned=timedelta(0))
    land(lake, "r-5", 40)
    (first, *_) = lake.stream(TAP, "people").snapshot().files()
    lake.store.delete(StreamKeys(TAP, "people").under(first.path))
    lake.store.delete(StreamKeys(TAP, "gone").manifest)
    rebuild(lake.store)
    land(lake, "r-6", 50, "people")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_each_step(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    line = Line(SUITE, f"the ingester killed at each step, {kind}", f"{TEST} -k {kind}")
    folder = tmp_path / "lake"
    lake = open_lake(folder, create=True)
    before(lake)
    indexes = []
    for number in range(0, STEPS, EVERY[kind]):
        place = tmp_path / str(number)
        place.mkdir()
        url = new_url(request, kind, place)
        storage = open_index(url)
        Ingester(storage, lake).poll()
        storage.close()
        indexes.append((number, url))
    after(lake)
    fresh = open_index(f"sqlite:///{tmp_path}/fresh.db")
    rebuild_index(fresh, lake, pytest.fail)
    expected = list(export_lines(fresh))
    fresh.close()
    for number, url in indexes:
        died = ends(folder, url, number)
        assert died in (0, -signal.SIGKILL)
        line.runs += 1
        line.faults += died != 0
        assert ends(folder, url, 1_000_000) == 0
        storage = open_index(url)
        assert list(export_lines(storage)) == expected, number
        assert list(check_index(storage, lake)) == []
        storage.close()
        if died == 0:
            break
    assert died == 0, "the last step was not reached"
    assert line.faults >= 3
    line.keep()
