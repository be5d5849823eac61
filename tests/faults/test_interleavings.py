"""Every interleaving of a few processes, by running the product's code under a scheduler.

Nothing of the protocol is written down a second time, so this model cannot drift from the code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from singerlake.format import manifest as manifests
from singerlake.lake import check, merge
from singerlake.lake.vacuum import vacuum
from tests.faults import variant
from tests.faults.exploration import Explored, Scenario, explore
from tests.faults.result import Line
from tests.faults.scale import WHOLE
from tests.faults.truth import Shelf, Truth, Violation, visible
from tests.faults.work import (
    ALL,
    TIMES,
    fixing,
    landing,
    purging,
    reading,
    rebuilding,
    vacuuming,
)
from tests.faults.world import deterministic
from tests.lake.landing import KEYS, codes, files_in, land, land_each, overwrite, put_orphan

SUITE = "Interleavings"
NOW = timedelta(0)
LEFTOVERS = {"orphan-file", "orphan-segment", "orphan-merge", "stale-lock"}


def nothing(store: Shelf, truth: Truth) -> None:
    """A lake that does not exist yet."""


def files(count: int) -> Callable[[Shelf, Truth], None]:
    """A stream with so many files of one record each."""

    def prepare(store: Shelf, truth: Truth) -> None:
        land_each(store, range(count))
        truth.send(range(count))
        truth.acknowledge(range(count))

    return prepare


def merged_files(store: Shelf, truth: Truth) -> None:
    """A purge has something to remove, and a vacuum something to merge."""
    files(5)(store, truth)
    vacuum(store, KEYS, replace(ALL, target_bytes=900))


def much_to_purge(store: Shelf, truth: Truth) -> None:
    """Replaced files, a merge that was given up, and a file that no manifest names."""
    files(3)(store, truth)
    vacuum(store, KEYS, ALL)
    land_each(store, [3, 4])
    merge.merge_files(store, KEYS, files_in(store)[-2:], 1, "given up")
    put_orphan(store, 5)
    truth.send([3, 4, 5])
    truth.acknowledge([3, 4])


def an_older_manifest(store: Shelf, truth: Truth) -> None:
    """It ends before a merged file that its copy names."""
    land(store, range(5))
    truth.send(range(7))
    truth.acknowledge(range(5))
    older = store.read(KEYS.manifest).data
    land_each(store, [5, 6])
    vacuum(store, KEYS, ALL)
    overwrite(store, KEYS.manifest, older)


def an_orphan_segment(store: Shelf, truth: Truth) -> None:
    files(3)(store, truth)
    store.create(KEYS.under("_segments/1-000000000001-000000000002-0badcafe.json"), b"{}")


@dataclass(frozen=True)
class Case:
    """A scenario with all that may go wrong in it; the share has fewer pre-emptions."""

    scenario: Scenario
    share: int | None = 1
    whole: int | None = None
    fan_out: int = 100
    large: bool = False
    """Left to the whole."""

    def bounded(self) -> Scenario:
        return replace(self.scenario, preemptions=self.whole if WHOLE else self.share)


def case(
    prepare: Callable[[Shelf, Truth], None],
    *,
    share: int | None = 1,
    whole: int | None = None,
    fan_out: int = 100,
    large: bool = False,
    deaths: int = 0,
    faults: int = 0,
    ticks: int = 0,
    takeovers: int = 1,
    store: type[Shelf] = Shelf,
    **bodies: Any,
) -> Case:
    scenario = Scenario(
        prepare,
        bodies,
        deaths=deaths,
        faults=faults,
        ticks=ticks,
        takeovers=takeovers,
        wrap=lambda shelf: store(shelf._name),
    )
    return Case(scenario, share, whole, fan_out, large)


a, b, other_folder = landing([1]), landing([2]), landing([2], 2)

CASES = {
    "two writers in one folder": case(files(1), share=None, takeovers=2, a=a, b=b),
    "two writers in one folder, one dies": case(files(1), deaths=1, share=0, a=a, b=b),
    "two writers in one folder, one fault": case(files(1), faults=1, share=0, whole=2, a=a, b=b),
    "two writers in one folder, one refreshes": case(files(1), ticks=1, a=a, b=b),
    "two writers in two folders": case(files(1), share=None, a=a, b=other_folder),
    "two writers in two folders, a death and a fault": case(
        files(1), deaths=1, faults=1, large=True, whole=0, a=a, b=other_folder
    ),
    "two writers in two folders, two faults below retries": case(
        files(1),
        faults=2,
        large=True,
        whole=0,
        a=landing([1], retrying=True),
        b=landing([2], 2, retrying=True),
    ),
    "one writer on a weak store, a death and a fault": case(
        files(1), deaths=1, faults=1, share=None, store=variant.Weak, a=a
    ),
    "two writers that choose one name, one fault": case(
        files(1), faults=1, share=0, whole=2, a=landing([1], at=1), b=landing([2], at=1)
    ),
    "two first writers of a new lake": case(
        nothing, whole=3, a=landing([1], new=True), b=landing([2], new=True)
    ),
    "two first writers of a new lake, a death": case(
        nothing, deaths=1, share=0, whole=1, a=landing([1], new=True), b=landing([2], new=True)
    ),
    "three writers": case(files(1), whole=3, a=a, b=b, c=landing([3], 2)),
    "two writers that seal, one fault": case(
        files(2), faults=1, fan_out=1, share=0, whole=2, a=landing([2]), b=landing([3], 2)
    ),
    "a writer and a vacuum, a death": case(
        files(3), deaths=1, share=0, whole=1, a=landing([3]), v=vacuuming()
    ),
    "a writer and a vacuum, a fault": case(
        files(3), faults=1, fan_out=1, share=0, whole=1, a=landing([3]), v=vacuuming()
    ),
    "two vacuums, a death": case(
        files(3), deaths=1, share=0, whole=1, u=vacuuming(), v=vacuuming()
    ),
    "a reader and a vacuum": case(files(3), share=None, r=reading(), v=vacuuming()),
    "a reader, a vacuum and a purge": case(
        merged_files, whole=3, r=reading(purged=True), v=vacuuming(), p=purging()
    ),
    "a purge and a rebuild": case(much_to_purge, whole=4, p=purging(), r=rebuilding()),
    "a purge of all that is left, and a rebuild": case(
        much_to_purge, whole=4, p=purging(NOW), r=rebuilding()
    ),
    "a purge and a rebuild, a death": case(
        much_to_purge, deaths=1, share=0, whole=1, p=purging(NOW), r=rebuilding()
    ),
    "a purge and a rebuild of an older manifest": case(
        an_older_manifest, whole=4, p=purging(NOW), r=rebuilding()
    ),
    "a purge and a fix": case(much_to_purge, whole=4, p=purging(NOW), f=fixing()),
    "two vacuums and a rebuild": case(
        files(3), whole=2, u=vacuuming(), v=vacuuming(), r=rebuilding()
    ),
    "a writer, a purge and a vacuum": case(
        merged_files, whole=2, a=landing([9]), p=purging(), v=vacuuming()
    ),
    "two vacuums and a rebuild, a death": case(
        files(3), deaths=1, large=True, whole=0, u=vacuuming(), v=vacuuming(), r=rebuilding()
    ),
    "a writer, a purge and a vacuum, a fault": case(
        merged_files,
        faults=1,
        large=True,
        whole=0,
        a=landing([9]),
        p=purging(),
        v=vacuuming(),
    ),
    "a writer that seals, and a fix": case(
        an_orphan_segment, fan_out=1, whole=3, a=landing([3]), f=fixing()
    ),
    "a writer that seals, and a fix, a death": case(
        an_orphan_segment, fan_out=1, deaths=1, share=0, whole=1, a=landing([3]), f=fixing()
    ),
    "a writer that seals, and a rebuild": case(
        an_orphan_segment, fan_out=1, whole=3, a=landing([3]), r=rebuilding()
    ),
    "a writer that seals, and a rebuild, a death": case(
        an_orphan_segment, fan_out=1, deaths=1, share=0, whole=1, a=landing([3]), r=rebuilding()
    ),
}


def only_leftovers(store: Shelf, truth: Truth) -> None:
    """At the end of a schedule: what is there is sound, and what crashes left can be mended."""
    copy = Shelf("explored-end")
    copy.fill(store)
    found = set(codes(check(copy, fix=True, times=TIMES)))
    if found - LEFTOVERS:
        raise Violation(f"BROKE {sorted(found - LEFTOVERS)}")
    truth.require(visible(copy))


def search(case: Case, broken: variant.Broken = contextlib.nullcontext) -> Explored:
    with pytest.MonkeyPatch.context() as patches, deterministic() as world, broken():
        patches.setattr(manifests, "FAN_OUT", case.fan_out)
        return explore(world, case.bounded(), at_the_end=only_leftovers)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name in CASES if WHOLE or not CASES[name].large])
def test_no_interleaving_loses_tears_or_doubles(name: str) -> None:
    one = CASES[name]
    bounded = one.bounded()
    bounds = "all" if bounded.preemptions is None else f"at most {bounded.preemptions}"
    line = Line(
        SUITE,
        name,
        f"tests/faults/test_interleavings.py -k '{name}'",
        bounds=f"{bounds} pre-emptions",
    )
    found = search(one)
    line.runs, line.faults, line.replays = found.schedules, found.faults, found.replays
    line.violations = int(found.violation is not None)
    line.keep()
    print(found.states, "states,", found.ends, "ends,", found.turns, "turns")
    assert found.violation is None, "\n".join([str(found.violation), *found.trace])
    assert found.ends


@dataclass(frozen=True)
class Control:
    """A broken variant, where it shows, and as what."""

    case: Case
    kind: str
    broken: variant.Broken = contextlib.nullcontext
    store: type[Shelf] = Shelf

    def search(self) -> Explored:
        scenario = replace(self.case.scenario, wrap=lambda store: self.store(store._name))
        return search(replace(self.case, scenario=scenario, share=2, whole=2), self.broken)


dying_vacuums = case(files(3), u=vacuuming(), v=vacuuming())
lost = case(files(1), faults=1, a=a)

CONTROLS = {
    "a manifest that is put unconditionally": Control(
        case(files(1), a=a, b=b), "LOST", store=variant.ManifestOverwritten
    ),
    "a perfect lock, and no condition": Control(
        case(files(1), takeovers=0, a=a, b=other_folder), "LOST", store=variant.ManifestOverwritten
    ),
    "a first manifest that is put unconditionally": Control(
        case(nothing, a=landing([1], new=True), b=landing([2], 2, new=True)),
        "LOST",
        store=variant.ManifestMadeAnew,
    ),
    "a STATE before the commit": Control(
        case(files(1), deaths=1, a=landing([1], early=True)), "LOST"
    ),
    "a name without digits of its own": Control(
        case(files(1), a=landing([1], at=1), b=landing([2], at=1)),
        "TORN",
        variant.names_used_again,
        store=variant.FilesOverwritten,
    ),
    "another's file taken for ours": Control(
        case(files(1), a=landing([1], at=1), b=landing([2], at=1)),
        "TORN",
        variant.another_file_for_ours,
    ),
    "a lost answer taken for a conflict": Control(
        lost, "TWICE", variant.conflict_for_a_lost_answer
    ),
    "a lost answer taken for a success": Control(lost, "LOST", variant.success_for_a_lost_answer),
    "a vacuum that requires nothing": Control(
        dying_vacuums, "TWICE", variant.a_vacuum_that_requires_nothing
    ),
    "a purge that takes a merge under way": Control(
        case(files(3), v=vacuuming(), p=purging(NOW)), "TORN"
    ),
    "a rebuild that does not look again": Control(
        case(much_to_purge, p=purging(NOW), r=rebuilding()), "TORN", variant.looking_once
    ),
    "a purge that does not ask the copy": Control(
        case(an_older_manifest, p=purging(NOW), r=rebuilding()), "TORN", variant.asking_no_copy
    ),
    "a fix that lists segments too late": Control(
        case(an_orphan_segment, fan_out=1, a=landing([3]), f=fixing()),
        "TORN",
        variant.segments_listed_too_late,
    ),
}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_broken_variant_is_seen() -> None:
    line = Line(SUITE, "controls", "tests/faults/test_interleavings.py -k broken")
    for name, control in CONTROLS.items():
        found = control.search()
        assert found.violation is not None, name
        assert found.violation.kind == control.kind, (name, str(found.violation), found.trace)
        line.runs += found.schedules
        line.controls += 1
    line.keep()


@pytest.mark.timeout(300)
def test_without_any_lock_the_commit_alone_is_safe() -> None:
    line = Line(
        SUITE,
        "two writers without a lock, one fault",
        "tests/faults/test_interleavings.py -k without_any_lock",
        bounds="all pre-emptions",
    )
    found = search(case(files(1), share=None, faults=1, a=a, b=b), variant.no_lock)
    assert found.violation is None, "\n".join([str(found.violation), *found.trace])
    line.runs, line.faults, line.replays = found.schedules, found.faults, found.replays
    line.keep()


def test_the_search_meets_every_interleaving() -> None:
    """By a count: two processes of three steps each on objects of their own interleave freely."""

    def steps(truth: Truth) -> Any:
        def body(process: Any) -> None:
            for at in range(3):
                process.request("read", f"{process.name} {at}", lambda: None)

        return body

    with deterministic() as world:
        found = explore(world, Scenario(nothing, {"a": steps, "b": steps}))
        assert found.states == 4 * 4
        bounded = explore(world, Scenario(nothing, {"a": steps, "b": steps}, preemptions=0))
        assert bounded.schedules == 2
