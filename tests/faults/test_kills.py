"""Real deaths: a process that ends by `os._exit` at a request, or at a step on the disk."""

from __future__ import annotations

import fcntl
import functools
import itertools
import math
import os
import random
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from singerlake.errors import NotFound, SingerlakeError
from singerlake.format import manifest as manifests
from singerlake.lake import check, open_on, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import LocalStore, Store, disk
from tests.faults import ground
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Truth
from tests.forking import fork
from tests.lake.faulty_store import Intercepting, Recording
from tests.lake.landing import (
    KEYS,
    QUICK,
    TAP,
    codes,
    land,
    numbers_in,
    options,
    record_line,
    schema_line,
)

SUITE = "Kills"
KILLED = 9
LOST = "acknowledged, and not in the lake"
SMALL = VacuumOptions(target_bytes=700, lock=QUICK)
LEFTOVERS = {"orphan-file", "orphan-segment", "orphan-merge", "stale-lock"}

Result = TypeVar("Result")


class Killing(Intercepting):
    """Ends the process before or after its N-th request, without a word."""

    def __init__(self, inner: Store, at: int, after: bool) -> None:
        super().__init__(inner)
        self._at, self._after = at, after
        self._requests = itertools.count(1)  # its `next` is one step, also beside other threads

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        mine = next(self._requests) == self._at
        if mine and not self._after:
            os._exit(KILLED)
        try:
            return call()
        finally:  # also where the answer is a refusal: that was a request too
            if mine:
                os._exit(KILLED)


def commit_each(
    store: Store, numbers: list[int], acknowledged: Path, version: int = 1, early: bool = False
) -> None:
    lake = open_on(store, create=True)
    with (
        lake.writer(TAP, options=options(QUICK, uploads=1)) as writer,
        acknowledged.open("a") as file,
    ):
        for number in numbers:
            writer.write(schema_line(version=version))
            writer.write(record_line(number))
            if not early:
                writer.commit()
            file.write(f"{number}\n")
            file.flush()
            writer.commit()


WORK: dict[str, tuple[Callable[[Store, Truth], None], Callable[[Store, Path], object]]] = {
    "commits to a new lake": (ground.nothing, lambda at, told: commit_each(at, [1, 2], told)),
    "commits that seal": (ground.few_files, lambda at, told: commit_each(at, [10, 11], told)),
    "a vacuum": (ground.small_files, lambda at, _: vacuum(at, KEYS, SMALL)),
    "a purge": (
        ground.merged_twice,
        lambda at, _: purge(at, KEYS, timedelta(0), abandoned=timedelta(0)),
    ),
    "a rebuild": (ground.leftovers, lambda at, _: rebuild(at)),
    "a fix": (ground.leftovers, lambda at, _: check(at, fix=True, times=QUICK)),
}
SHORT = "commits that seal"
"""What a share, too, kills at every request: it has an upload, a segment, a manifest and a lock."""

CONTROL = "a STATE before the commit"
BODIES = {name: work for name, (_, work) in WORK.items()} | {
    CONTROL: lambda at, told: commit_each(at, [1, 2], told, early=True)
}


def work_until_killed(name: str, folder: Path, at: int, after: bool, acknowledged: Path) -> None:
    """In a process of its own."""
    manifests.FAN_OUT = 2
    BODIES[name](Killing(LocalStore(folder), at, after), acknowledged)
    os._exit(0)


def run(target: Callable[..., None], *arguments: Any) -> int | None:
    process = fork.Process(target=target, args=arguments)
    process.start()
    process.join(60)
    return process.exitcode


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WORK)
def test_a_process_killed_at_any_request_loses_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
    line = Line(SUITE, f"{name}, at a request", f"tests/faults/test_kills.py -k '{name}'")
    truth = Truth()
    base, acknowledged = tmp_path / "base", tmp_path / "acknowledged"
    WORK[name][0](LocalStore(base), truth)

    def killed(at: int, after: bool) -> bool:
        folder = copied(base, tmp_path / f"{at} {after}")
        acknowledged.write_text("")
        exit_code = run(work_until_killed, name, folder, at, after, acknowledged)
        assert exit_code in (KILLED, 0), f"request {at}"
        line.runs += 1
        line.faults += exit_code == KILLED
        assert_kept(LocalStore(folder), truth, acknowledged)
        shutil.rmtree(folder)
        return exit_code == KILLED

    recording = Recording(LocalStore(copied(base, tmp_path / "recorded")))
    acknowledged.write_text("")
    BODIES[name](recording, acknowledged)
    step, points = scaled(1 if name == SHORT else 9, 1), 0
    while any([killed(1 + points * step, after) for after in (False, True)]):
        points += 1
    line.keep()
    assert points == math.ceil(len(recording.requests) / step)
    assert line.faults == 2 * points


def copied(base: Path, folder: Path) -> Path:
    """The lake of the ground, where there is one."""
    return shutil.copytree(base, folder) if base.exists() else folder


def assert_kept(store: Store, truth: Truth, acknowledged: Path) -> None:
    """Nothing acknowledged is missing, the next writer goes on, and a fix cleans up."""
    wanted = truth.acknowledged | {int(line) for line in acknowledged.read_text().split()}
    wanted -= set(ground.OF_OTHER)
    try:
        store.read(KEYS.manifest)
    except NotFound:
        assert not wanted, LOST
    else:
        assert wanted <= set(numbers_in(store)), LOST
    land(store, [10**6], times=QUICK)
    assert set(codes(check(store, fix=True, times=QUICK))) <= LEFTOVERS
    assert set(codes(check(store, times=QUICK))) <= {"orphan-merge"}
    there = numbers_in(store)
    assert wanted | {10**6} <= set(there)
    assert len(there) == len(set(there))


def test_the_control_is_seen(tmp_path: Path) -> None:
    """Acknowledged before the commit, and killed at the first request of the commit."""
    folder, acknowledged = tmp_path / "lake", tmp_path / "acknowledged"
    acknowledged.touch()
    assert run(work_until_killed, CONTROL, folder, 4, False, acknowledged) == KILLED
    line = Line(SUITE, "controls", "tests/faults/test_kills.py -k control", runs=1)
    try:
        assert_kept(LocalStore(folder), Truth(), acknowledged)
    except AssertionError as error:
        line.control(LOST in str(error), error)
    else:
        line.control(seen=False)


STEPS = 45  # a commit on a local disk makes about so many system calls of the kinds below


def commit_until_killed(folder: Path, seed: int, acknowledged: Path) -> None:
    """In a process of its own: commits, and ends without a word at some step on the disk."""
    chance = random.Random(seed)
    left = chance.randrange(1, 4 * STEPS)

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and seed % 2:
                os._exit(KILLED)
            result = step(*arguments, **named)
            if left <= 0:
                os._exit(KILLED)
            return result

        return counted

    for owner, name in (
        (os, "link"),
        (os, "fsync"),
        (Path, "replace"),
        (Path, "unlink"),
        (Path, "mkdir"),
        (Path, "rmdir"),
        (disk, "write_new"),
        (fcntl, "flock"),
    ):
        setattr(owner, name, dying(getattr(owner, name)))
    numbers = [seed * 100 + step for step in range(100)]
    commit_each(LocalStore(folder), numbers, acknowledged, version=1 + seed % 2)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_process_that_ends_at_any_step_on_a_local_disk_loses_nothing(tmp_path: Path) -> None:
    """Many writers in one lake, one after another, none of which lives to its end."""
    line = Line(SUITE, "commits, at a step on the disk", "tests/faults/test_kills.py -k disk")
    folder, acknowledged = tmp_path / "lake", tmp_path / "acknowledged"
    acknowledged.touch()
    store = LocalStore(folder)
    for seed in range(scaled(20, 300)):
        assert run(commit_until_killed, folder, seed, acknowledged) == KILLED
        line.runs += 1
        line.faults += 1
        wanted = {int(number) for number in acknowledged.read_text().split()}
        try:
            assert wanted <= set(numbers_in(store))
        except SingerlakeError:
            assert not wanted
        if seed % 5 == 4:
            assert set(codes(check(store, fix=True, times=QUICK))) <= LEFTOVERS
            assert check(store, times=QUICK).clean
    land(store, [10**6], times=QUICK)
    land(store, [10**6 + 1], version=2, times=QUICK)
    assert set(codes(check(store, fix=True, times=QUICK))) <= LEFTOVERS
    assert check(store, times=QUICK).clean
    there = numbers_in(store)
    assert {int(number) for number in acknowledged.read_text().split()} <= set(there)
    assert len(there) == len(set(there))
    line.keep()
