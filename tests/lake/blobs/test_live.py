"""What records name, now and at a pin: against a plain account of the same history."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from singerlake.format.blob import Named
from singerlake.lake.blobs.live import Live

KEYS, PATHS = st.sampled_from("abc"), st.sampled_from("xyz")
EVENTS = st.lists(
    st.tuples(KEYS, st.one_of(st.none(), st.lists(PATHS, min_size=1, max_size=2))), max_size=12
)
"""Of each number: a key, and the paths that its record names; None for a tombstone."""


def named_at(events: list[tuple[str, list[str] | None]], number: int) -> set[str]:
    """By going through all of it."""
    held: dict[str, set[str]] = {}
    for key, paths in events[:number]:
        if paths is None:
            held.pop(key, None)
        else:
            held.setdefault(key, set()).update(paths)
    return set().union(*held.values())


@given(EVENTS, st.lists(st.integers(0, 12), max_size=2), st.booleans())
def test_live_is_what_a_plain_account_says(
    events: list[tuple[str, list[str] | None]], pins: list[int], counting: bool
) -> None:
    live = Live()
    for number, (key, paths) in enumerate(events, start=1):
        counts = live.counts(key) if counting and paths is None else None
        live.add(number, Named(key, dict(enumerate_paths(paths)), {}, paths is None, counts))
    now = named_at(events, len(events))
    assert live.paths() == now
    pinned = set().union(*(named_at(events, pin) for pin in pins))
    assert {path for path in "xyz" if live.names(path, pins)} == now | pinned
    for path in "xyz":
        others = {
            key
            for key in "bc"
            if path in named_at([event for event in events if event[0] == key], len(events))
        }
        assert live.others(path, {"a"}) == bool(others)


def enumerate_paths(paths: list[str] | None) -> list[tuple[str, str]]:
    return [(str(number), path) for number, path in enumerate(paths or ())]


@given(st.integers(1, 3), st.integers(0, 3), st.randoms(use_true_random=False))
def test_what_came_after_a_tombstone_is_named_in_whatever_order_a_rebuild_finds_it(
    before: int, after: int, chance: random.Random
) -> None:
    """And a tombstone that was made twice, at the same time, forgets no more than one."""
    tombstone = Named("a", {}, {}, forgotten=True, counts={"x": before})
    lines = [Named("a", {"p": "x"}, {})] * (before + after) + [tombstone] * 2
    chance.shuffle(lines)
    live = Live()
    for number, said in enumerate(lines, start=1):
        live.add(number, said)
    assert live.names("x") or not after
