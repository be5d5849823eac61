"""Projecting: all interleavings of two runs, and a fault at each of their requests.

`tests/spark/test_project_crashes.py` crashes real Spark jobs around the put, and in their tasks.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from singerlake.store import Store
from tests.faults import ground, projection, variant
from tests.faults.crash_point import Ground, Setting, strike
from tests.faults.exploration import Explored, Scenario, explore
from tests.faults.fault import EVERY, Fault
from tests.faults.projection import SPARK, projecting, require_all, require_once
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Shelf, Truth, Violation
from tests.faults.work import SMALL, landing, vacuuming, writing
from tests.faults.world import deterministic

SUITE = "Projecting"


def published_once(store: Shelf, truth: Truth) -> None:
    ground.few_files(store, truth)
    projection.project(store)


def more_to_publish(store: Shelf, truth: Truth) -> None:
    published_once(store, truth)
    ground._landed(store, truth, range(3, 5))


SETTINGS = {
    "the first projection, beside commits": Setting(
        ground.few_files, projecting(), writing([10], [11]), fan_out=100
    ),
    "a projection of the rest, beside another": Setting(
        more_to_publish, projecting(), projecting(), fan_out=100
    ),
    "a projection of the rest, beside a vacuum": Setting(
        more_to_publish, projecting(), vacuuming(SMALL), fan_out=100
    ),
}


def checked(setting: Setting) -> Setting:
    return Setting(
        setting.ground,
        setting.work,
        setting.beside,
        setting.fan_out,
        also=require_once,
        afterwards=require_all,
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_fault_at_any_request_publishes_each_record_once(name: str) -> None:
    line = Line(SUITE, f"{name}, a fault", f"tests/faults/test_projections.py -k '{name}'")
    step = scaled(7, 1)
    with deterministic(**SPARK) as world:
        lake = Ground(checked(SETTINGS[name]))
        for seed in range(scaled(1, 4)):
            requests = strike(world, lake, Fault.NONE, 0, seed).requests
            points = itertools.product(range(1, requests + 1), EVERY)
            for at, fault in itertools.islice(points, seed % step, None, step):
                outcome = strike(world, lake, fault, at, seed)
                line.runs += outcome.struck
                line.faults += outcome.struck
                line.replays += outcome.replays
    line.bounds = f"{scaled(1, 4)} schedules"
    line.keep()


def search(kind: type[Shelf] = Shelf, *, beside: bool = False, **bounds: Any) -> Explored:
    bodies = {"p": projecting(), "q": projecting()}
    if beside:
        bodies["a"] = landing([9])  # so that one of the runs has seen less
    scenario = Scenario(
        more_to_publish,
        bodies,
        also=require_once,
        wrap=lambda store: kind(store._name),
        **bounds,
    )
    with deterministic(**SPARK) as world:
        return explore(world, scenario)


@pytest.mark.timeout(600)
def test_no_interleaving_of_two_runs_publishes_twice() -> None:
    preemptions = scaled(0, 2)
    line = Line(
        SUITE,
        "two projections, interleaved, a death",
        "tests/faults/test_projections.py -k interleaving",
        bounds=f"at most {preemptions} pre-emptions",
    )
    found = search(preemptions=preemptions, deaths=1)
    assert found.violation is None, "\n".join([str(found.violation), *found.trace])
    line.runs, line.faults, line.replays = found.schedules, found.faults, found.replays
    line.keep()


def test_an_unconditional_put_is_seen() -> None:
    control("a put without a condition", "LOST", variant.PublishedOverwritten, beside=True)


def test_files_that_were_never_staged_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    put = projection.put

    def early(store: Store, keys: Any, head: Any, new: Any) -> None:
        store.delete(keys.under(new.files[-1].path))
        put(store, keys, head, new)

    monkeypatch.setattr(projection, "put", early)
    control("a put before all is staged", "TORN")


def control(name: str, expected: str, kind: type[Shelf] = Shelf, **bounds: Any) -> None:
    line = Line(SUITE, f"control: {name}", "tests/faults/test_projections.py -k seen")
    found = search(kind, preemptions=2, **bounds)
    line.runs = found.schedules
    seen = isinstance(found.violation, Violation) and found.violation.kind == expected
    line.control(seen, (str(found.violation), found.trace))
