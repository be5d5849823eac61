"""A fault at each request of each kind of work, beside another process, by seeded schedules."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from singerlake.format import manifest as manifests
from singerlake.store import Store
from tests.faults import ground, variant
from tests.faults.crash_point import Ground, Setting, strike
from tests.faults.fault import DEATHS, EVERY, Fault
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Shelf, Truth, Violation, visible
from tests.faults.work import (
    ALL,
    SMALL,
    Work,
    fixing,
    in_turn,
    landing,
    purging,
    rebuilding,
    saving,
    vacuuming,
    writing,
)
from tests.faults.world import deterministic

SUITE = "Crash points"
SEEDS = scaled(1, 3)
STEP = scaled(9, 1)
"""Of all faults at all requests, every so many-th is taken; another residue with each seed."""

AT_EVERY_REQUEST = (
    "the first commit of a lake, beside another",
    "commits to a known stream, beside others",
    "a rebuild without a manifest",
)
"""Where a share, too, has the process die before and after each request."""

JOB = range(10, 14)


def whole_or_not_at_all(store: Shelf, truth: Truth) -> None:
    """However often the job was made anew: each time all of it is there, or none of it."""
    there = Counter(visible(store))
    if len({there[number] for number in JOB}) > 1:
        raise Violation(f"PART {sorted(there[number] for number in JOB)}: of a job")


def nothing_of_it(store: Shelf, truth: Truth) -> None:
    if there := set(JOB) & set(visible(store)):
        raise Violation(f"PART {sorted(there)}: of a job that failed")


def job(beside: Work | None = None, *, fails: bool = False) -> Setting:
    """A write by Spark in two tasks."""
    holds = nothing_of_it if fails else whole_or_not_at_all
    work = saving(JOB[:2], JOB[2:], fails=fails)
    return Setting(ground.few_files, work, beside, also=holds, afterwards=holds)


def same_times(before: Callable[[Store, Truth], None]) -> Setting:
    """A purge beside another, and beside commits of files with the times of purged ones."""
    at_once = purging(timedelta(0))
    beside = in_turn(at_once, landing([20], at=0), landing([21], at=1))
    return Setting(before, at_once, beside, purges=True)


SETTINGS = {
    "the first commit of a lake, beside another": Setting(
        ground.nothing, writing([1, 2, 501]), writing([3], [502])
    ),
    "commits to a known stream, beside others": Setting(
        ground.few_files, writing([10, 11], [12]), writing([13], [14])
    ),
    "commits that seal, beside another schema": Setting(
        ground.few_files,
        writing([10], [11], [12]),
        writing([13], [14], versions={13: 2, 14: 2}),
        fan_out=1,
    ),
    "a change of schema, beside a vacuum": Setting(
        ground.few_files, writing([10, 11], versions={11: 2}), vacuuming(ALL)
    ),
    "commits, beside a rebuild": Setting(ground.few_files, writing([10], [11]), rebuilding()),
    "a vacuum, beside commits": Setting(ground.small_files, vacuuming(SMALL), writing([20], [21])),
    "a vacuum of merged files, beside a vacuum": Setting(
        ground.merged_twice, vacuuming(ALL), vacuuming(SMALL)
    ),
    "a purge, beside commits": Setting(
        ground.merged_twice, purging(timedelta(0)), writing([20], [21]), purges=True
    ),
    "a purge, beside another and commits with the times of purged files": same_times(ground.merged),
    "the same, where there is much to purge": same_times(ground.merged_twice),
    "a rebuild of a lake with leftovers, beside commits": Setting(
        ground.leftovers, rebuilding(), writing([30], [31])
    ),
    "a rebuild without a manifest": Setting(ground.no_manifest, rebuilding(), unsettled=True),
    "a rebuild without any metadata": Setting(ground.no_metadata, rebuilding(), unsettled=True),
    "a fix of leftovers, beside commits": Setting(ground.leftovers, fixing(), writing([30], [31])),
    "a write by Spark, beside commits": job(writing([20], [21])),
    "a write by Spark, beside a fix": job(fixing()),
    "a write by Spark, beside a vacuum": job(vacuuming(ALL)),
    "a write by Spark, beside a purge": replace(job(purging()), purges=True),
    "a write by Spark that fails, beside commits": job(writing([20], [21]), fails=True),
    "a write by Spark that fails, beside a rebuild": job(rebuilding(), fails=True),
}


def points(name: str, requests: int, seed: int) -> Iterable[tuple[int, Fault]]:
    """Which fault strikes at which request."""
    every = range(1, requests + 1)
    some = itertools.islice(itertools.product(every, EVERY), seed % STEP, None, STEP)
    deaths = itertools.product(every, DEATHS) if name in AT_EVERY_REQUEST else ()
    return dict.fromkeys(itertools.chain(some, deaths))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_fault_at_any_request_breaks_no_promise(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = SETTINGS[name]
    monkeypatch.setattr(manifests, "FAN_OUT", setting.fan_out)
    line = Line(SUITE, name, f"tests/faults/test_crash_points.py -k '{name}'")
    with deterministic() as world:
        lake = Ground(setting)
        for seed in range(SEEDS):
            requests = strike(world, lake, Fault.NONE, 0, seed).requests
            assert requests > 5
            for at, fault in points(name, requests, seed):
                try:
                    outcome = strike(world, lake, fault, at, seed)
                except Violation as violation:
                    line.violations += 1
                    line.keep()
                    pytest.fail(f"{fault.value}, request {at}, seed {seed}: {violation}")
                line.runs += outcome.struck
                line.faults += outcome.struck
                line.replays += outcome.replays
    line.bounds = f"{SEEDS} schedules"
    line.keep()


@dataclass(frozen=True)
class Control:
    """A broken variant, where it shows, and as what."""

    setting: Setting
    kind: str
    broken: variant.Broken = contextlib.nullcontext
    store: type[Shelf] = Shelf
    seeds: int = 3

    def violation(self) -> Violation | None:
        """The first that is seen, over all faults at all requests."""
        with deterministic() as world, self.broken():
            lake = Ground(self.setting)
            for seed, at, fault in itertools.product(range(self.seeds), range(1, 40), EVERY):
                try:
                    if not strike(world, lake, fault, at, seed, self.store).struck:
                        continue
                except Violation as violation:
                    return violation
        return None


commits = SETTINGS["commits to a known stream, beside others"]
names = SETTINGS["a purge, beside another and commits with the times of purged files"]

CONTROLS = {
    "a STATE before the commit": Control(
        Setting(ground.few_files, writing([10], early=True)), "LOST"
    ),
    "a manifest that is put unconditionally": Control(
        commits, "LOST", store=variant.ManifestOverwritten
    ),
    "the manifest before the file": Control(commits, "TORN", variant.the_manifest_before_the_file),
    "a lost answer taken for a conflict": Control(
        commits, "TWICE", variant.conflict_for_a_lost_answer
    ),
    "a lost answer taken for a success": Control(
        commits, "LOST", variant.success_for_a_lost_answer
    ),
    "a fix that leaves orphans": Control(commits, "BROKE", variant.orphans_left),
    "a vacuum that requires nothing": Control(
        Setting(ground.small_files, vacuuming(ALL), vacuuming(ALL), fan_out=100),
        "TWICE",
        variant.a_vacuum_that_requires_nothing,
    ),
    "names that are used again": Control(names, "TORN", variant.names_used_again),
    # Only an attempt that arrives late, as another file than the committed one, shows it.
    "notes that end with their job": Control(
        job(), "TWICE", variant.notes_that_end_with_their_job, seeds=12
    ),
    "notes that end with their job, which failed": Control(
        job(fails=True), "PART", variant.notes_that_end_with_their_job, seeds=9
    ),
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_broken_variant_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(SUITE, "controls", "tests/faults/test_crash_points.py -k broken")
    for name, control in itertools.islice(CONTROLS.items(), scaled(5, None)):
        monkeypatch.setattr(manifests, "FAN_OUT", control.setting.fan_out)
        seen = control.violation()
        assert seen is not None, name
        assert seen.kind == control.kind, (name, str(seen))
        line.controls += 1
    line.keep()
