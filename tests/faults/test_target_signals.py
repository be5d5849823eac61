"""kill -9 and SIGSTOP at any moment, on real targets: the tap goes on from the last STATE."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.faults.broken_target import EARLY, TRIES, UNCONDITIONAL, is_lost
from tests.faults.pipeline import (
    STALE,
    Place,
    Run,
    Start,
    Tap,
    finish,
    lake_folder,
    require_kept,
    running,
)
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.target.driving import forked

SUITE = "Target processes"
THIS = "tests/faults/test_target_signals.py"
S3, LOCAL = "S3", "a local folder"

NewPlace = Callable[[str], Place]


@pytest.fixture
def start() -> Start:
    return forked


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> NewPlace:
    def new(kind: str) -> Place:
        if kind == LOCAL:
            return lake_folder(tmp_path / uuid.uuid4().hex)
        return Place.of(request.getfixturevalue("seaweedfs"))

    return new


def killed_again_and_again(
    start: Start, place: Place, tap: Tap, kills: int, chance: random.Random
) -> None:
    for _ in range(kills):
        with running(start, place, tap) as run:
            if chance.random() < 0.7:
                run.wait_for_states(chance.randint(1, 2))
                time.sleep(chance.uniform(0, 0.4))
            else:
                time.sleep(chance.uniform(0, 1.5))
            assert run.process.poll() is None, run.log()
            run.kill()


KILLS = {1: scaled(4, 15), 2: scaled(3, 8)}
"""Of each target in a chain."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("kind", "targets", "chains"),
    scaled(
        [(S3, 2, 1), (LOCAL, 1, 1)],
        [(S3, 1, 10), (S3, 2, 5), (LOCAL, 1, 5), (LOCAL, 2, 3)],
    ),
)
def test_no_record_is_missing_after_kills_at_random_moments(
    kind: str, targets: int, chains: int, start: Start, new_place: NewPlace
) -> None:
    line = Line(SUITE, f"kill -9 on {kind}, targets at once: {targets}", f"{THIS} -k kills")
    kills = KILLS[targets]

    def run_chain(place: Place, tap: Tap, seed: int) -> None:
        killed_again_and_again(start, place, tap, kills, random.Random(seed))

    for chain in range(chains):
        place, taps = new_place(kind), [Tap(number) for number in range(targets)]
        with ThreadPoolExecutor(targets) as pool:
            seeds = range(chain * targets, (chain + 1) * targets)
            list(pool.map(partial(run_chain, place), taps, seeds))
            list(pool.map(partial(finish, start, place), taps))
        line.replays += require_kept(place, *taps)
        line.runs += targets * (kills + 1)
        line.faults += targets * kills
    line.keep()


STOPS = scaled(3, 10)
"""In a chain."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("kind", "targets", "chains"), scaled([(S3, 2, 1)], [(S3, 2, 6), (LOCAL, 3, 2)])
)
def test_a_target_stopped_past_the_stale_time_loses_nothing(
    kind: str, targets: int, chains: int, start: Start, new_place: NewPlace
) -> None:
    """Nobody dies here, so every record is there once, and no lock is left.

    On S3 it holds nobody up. In a folder it may, for as long as it is stopped: where it was about
    to rename a file, it holds a lock of the system, which never turns stale.
    """
    line = Line(SUITE, f"SIGSTOP on {kind}, targets at once: {targets}", f"{THIS} -k stopped")
    for chain in range(chains):
        place, taps = new_place(kind), [Tap(number) for number in range(targets)]
        with ExitStack() as stack:
            runs = [stack.enter_context(running(start, place, tap)) for tap in taps]
            stop_in_turns(runs, random.Random(chain), others_go_on=kind == S3)
            for run in runs:
                assert run.end() == 0, run.log()
        assert require_kept(place, *taps, leftovers={"orphan-file", "orphan-segment"}) == 0
        line.runs += targets
        line.faults += STOPS
    line.keep()


def stop_in_turns(runs: list[Run], chance: random.Random, others_go_on: bool) -> None:
    """Stop one of them at any moment, for longer than a lock stays fresh."""
    for run in runs:
        run.wait_for_states(1)
    for _ in range(STOPS):
        time.sleep(chance.uniform(0, 0.5))
        stopped = chance.choice(runs)
        stopped.pause()
        begin = time.monotonic()
        for other in runs:
            if others_go_on and other is not stopped:
                other.wait_for_states(2)
        time.sleep(max(0.0, begin + 1.3 * STALE.stale_after - time.monotonic()))
        stopped.resume()
        stopped.wait_for_states(1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_check_sees_a_state_that_comes_too_early(start: Start, new_place: NewPlace) -> None:
    place, tap, chance = new_place(LOCAL), Tap(), random.Random(0)
    line = Line(SUITE, "controls, a STATE sent early", f"{THIS} -k early")
    seen = False
    while not seen and line.runs < TRIES:
        killed_again_and_again(partial(start, patch=EARLY), place, tap, 1, chance)
        finish(start, place, tap)
        line.runs += 1
        seen = is_lost(place, tap)
    line.control(seen)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_check_sees_an_unconditional_put_of_the_manifest(
    start: Start, new_place: NewPlace
) -> None:
    """Two targets in two schema folders hold different locks, and share the manifest."""
    place, taps = new_place(S3), [Tap(0), Tap(1)]
    taps[1].first = taps[1].position = taps[1].first + 100
    blind = partial(start, patch=UNCONDITIONAL)
    line = Line(SUITE, "controls, an unconditional put", f"{THIS} -k unconditional")
    seen = False
    while not seen and line.runs < TRIES:
        with running(blind, place, taps[0]) as one, running(blind, place, taps[1]) as other:
            one.wait_for_states(3)
            other.wait_for_states(3)
            one.end()
            other.end()
        line.runs += 1
        seen = is_lost(place, *taps)
    line.control(seen)
