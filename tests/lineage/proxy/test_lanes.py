"""Lanes: whoever takes what and when, a lane keeps its order and nothing is passed over."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.lineage.buffer import Stored
from singerlake.lineage.buffer.disk.dead import Refusal
from singerlake.lineage.proxy.courier import Step
from singerlake.lineage.proxy.lanes import Lanes


@settings(max_examples=150, deadline=None)
@given(names=st.lists(st.sampled_from("abc"), min_size=1, max_size=25), seed=st.integers(0))
def test_a_lane_keeps_its_order_and_the_checkpoint_passes_nothing(
    names: list[str], seed: int
) -> None:
    chance, lanes = random.Random(seed), Lanes(window=8)
    events = [Stored(number, 0, b"") for number in range(1, len(names) + 1)]
    waiting, working = list(zip(names, events, strict=True)), dict[str, Stored]()
    done: list[tuple[str, int]] = []
    checkpoint = sent = refused = 0
    while checkpoint < len(names):
        choices = ["settle"]
        choices += ["add"] if waiting else []
        choices += ["take"] if lanes._ready else []
        choices += [f"end {lane}" for lane in working]
        choice = chance.choice(choices)
        if choice == "add" and lanes.add(*waiting[0], seconds=0):
            waiting.pop(0)
        elif choice == "take":
            taken = lanes.take()
            assert taken is not None
            assert taken[0] not in working  # one at a time
            working[taken[0]] = taken[1]
        elif choice.startswith("end"):
            event = working.pop(choice[4:])
            bad = chance.random() < 0.3
            step = Step(refused=(event, Refusal(400, "no"))) if bad else Step(sent=[event])
            lanes.done(choice[4:], step)
            done.append((choice[4:], event.sequence))
        elif (settled := lanes.settled()) is not None:
            assert settled.first == checkpoint + 1
            checkpoint = settled.last
            sent, refused = sent + settled.sent, refused + len(settled.refused)
            finished = {number for _, number in done}
            assert set(range(1, checkpoint + 1)) <= finished
    assert sent + refused == len(names)
    assert lanes.is_idle
    for lane in "abc":
        numbers = [number for name, number in done if name == lane]
        assert numbers == [n for n, name in enumerate(names, 1) if name == lane]


def test_what_is_settled_has_no_gap_in_its_numbers() -> None:
    """What a limit dropped between two events would else count as sent."""
    lanes = Lanes()
    for number in (1, 2, 10, 11):
        assert lanes.add("a", Stored(number, 0, b""), seconds=0)
    for _ in range(4):
        taken = lanes.take()
        assert taken is not None
        lanes.done("a", Step(sent=[taken[1]]))
    settled = [lanes.settled(), lanes.settled(), lanes.settled()]
    assert [one and (one.first, one.last, one.sent) for one in settled] == [
        (1, 2, 2),
        (10, 11, 2),
        None,
    ]
