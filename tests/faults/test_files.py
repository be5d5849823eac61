"""Files of any kind: no schedule of puts, purges and forgets leaves a record without its bytes.

The product's own code runs, request by request; in every state between two requests, all that
records name has to be there.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import pytest

from tests.faults.exploration import Explored, Scenario, explore
from tests.faults.files import (
    Broken,
    forgetting,
    in_world,
    nothing_dangles,
    purge_that_trusts_another,
    purging_files,
    putting,
    putting_beside_own_commits,
    silent_purge,
    with_a_file,
    with_an_orphan,
    writer_that_does_not_wait,
    writer_that_looks_once,
)
from tests.faults.result import Line
from tests.faults.scale import WHOLE
from tests.faults.work import Work
from tests.faults.world import deterministic

SUITE = "Files"


@dataclass(frozen=True)
class Case:
    """A scenario; how many pre-emptions a share has, and the whole (None: all)."""

    scenario: Scenario
    share: int | None = 1
    whole: int | None = 2


def case(
    prepare: object, *, share: int | None = 1, whole: int | None = 2, deaths: int = 0,
    faults: int = 0, **bodies: Work,
) -> Case:  # fmt: skip
    scenario = Scenario(
        prepare,  # type: ignore[arg-type]
        bodies,
        deaths=deaths,
        faults=faults,
        also=nothing_dangles,
    )
    return Case(scenario, share, whole)


CASES = {
    "a put of an orphan's bytes, beside a purge": case(
        with_an_orphan, share=2, whole=3, a=putting(1), p=purging_files()
    ),
    "the same, and one of them dies": case(
        with_an_orphan, deaths=1, share=0, whole=2, a=putting(1), p=purging_files()
    ),
    "the same, and a request fails": case(
        with_an_orphan, faults=1, share=0, whole=1, a=putting(1), p=purging_files()
    ),
    "two puts of an orphan's bytes, beside a purge": case(
        with_an_orphan, share=1, whole=2, a=putting(1), b=putting(2), p=purging_files()
    ),
    "a put of an orphan's bytes, beside two purges": case(
        with_an_orphan, share=1, whole=2, a=putting(1), p=purging_files(), q=purging_files()
    ),
    "a put between commits of its own, beside a purge": case(
        with_an_orphan, share=1, whole=3, a=putting_beside_own_commits(1, 2), p=purging_files()
    ),
    "a put of bytes that are being forgotten": case(
        with_a_file, share=1, whole=3, a=putting(1), f=forgetting(0)
    ),
    "the same, and a request fails (forgetting)": case(
        with_a_file, faults=1, share=0, whole=1, a=putting(1), f=forgetting(0)
    ),
}


def search(one: Case, broken: Broken = contextlib.nullcontext) -> Explored:
    bounded = replace(one.scenario, preemptions=one.whole if WHOLE else one.share)
    with deterministic() as world, in_world(world), broken():
        return explore(world, bounded)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", CASES)
def test_no_schedule_leaves_a_record_without_its_bytes(name: str) -> None:
    line = Line(SUITE, name, f"tests/faults/test_files.py -k '{name}'")
    found = search(CASES[name])
    line.runs, line.faults, line.replays = found.schedules, found.faults, found.replays
    line.violations = int(found.violation is not None)
    line.keep()
    print(found.schedules, "schedules,", found.states, "states,", found.ends, "ends")
    assert found.violation is None, "\n".join([str(found.violation), *found.trace])
    assert found.ends


beside = case(with_an_orphan, share=2, whole=2, a=putting(1), p=purging_files())
between = case(
    with_an_orphan, share=3, whole=3, a=putting_beside_own_commits(1, 2), p=purging_files()
)

CONTROLS: dict[str, tuple[Case, Broken]] = {
    "a purge that announces nothing": (beside, silent_purge),
    "a writer that looks once": (beside, writer_that_looks_once),
    "a writer that does not wait": (beside, writer_that_does_not_wait),
    "a purge that takes another's commit for its own": (between, purge_that_trusts_another),
    "a record before its bytes": (
        case(with_an_orphan, share=0, a=putting(1, b"new bytes", early=True)),
        contextlib.nullcontext,
    ),
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", CONTROLS)
def test_each_broken_variant_is_seen(name: str) -> None:
    line = Line(SUITE, f"control: {name}", "tests/faults/test_files.py -k broken")
    found = search(*CONTROLS[name])
    line.runs = found.schedules
    assert found.violation is None or found.violation.kind == "DANGLING", found.trace
    line.control(found.violation is not None, name)
