"""What every engine promises: one suite for all. See singerlake/processor/engine/base.py."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import redis

from singerlake.errors import (
    BacklogFull,
    BadEvent,
    BadLocation,
    BusyError,
    ConfigError,
    Unavailable,
    UnsupportedFormat,
)
from singerlake.processor import Engine, MemoryEngine, open_engine
from singerlake.processor.engine.redis.connection import Connection
from singerlake.processor.engine.redis.engine import RedisEngine
from singerlake.processor.engine.values import (
    Grant,
    Item,
    KeyState,
    Outcome,
    Slot,
    Terms,
    Turn,
    What,
    pauses,
)
from singerlake.processor.event import decode_value
from tests.processor.conftest import new_namespace
from tests.processor.servers import Server

SHORT = 0.05
"""A lease, in seconds, that a test outlives."""

A, B = Slot("a", 0), Slot("b", 0)
TERMS = Terms(batch=10)


def turn(
    engine: Engine,
    slot: Slot = A,
    outcome: Outcome | None = None,
    terms: Terms = TERMS,
    claim: bool = True,
) -> Turn:
    """A turn on the shards in order, until one has something."""
    first = 0 if outcome is None else engine.shard_of(outcome.key)
    found = engine.turn(first, slot, terms, outcome, claim=claim)
    for shard in range(1, engine.shards):
        if found.grant is not None or not claim:
            break
        other = engine.turn((first + shard) % engine.shards, slot, terms)
        found = replace(other, lost=found.lost)
    return found


def take(engine: Engine, slot: Slot = A, terms: Terms = TERMS) -> Grant:
    found = turn(engine, slot, terms=terms).grant
    assert found is not None
    return found


def nothing(engine: Engine, slot: Slot = A, terms: Terms = TERMS) -> bool:
    return turn(engine, slot, terms=terms).grant is None


def done(grant: Grant, what: What = "rest", count: int | None = None, **others: object) -> Outcome:
    count = len(grant.entries) if count is None else count
    position = grant.entries[count - 1].position if count else 0
    return Outcome(grant.key, grant.token, what, count, position, **others)  # type: ignore[arg-type]


def values(grant: Grant | None) -> list[object]:
    return [] if grant is None else [decode_value(entry.value) for entry in grant.entries]


def after(seconds: float) -> None:
    """Engines have clocks of their own, which nobody can move: leases of tests are short."""
    time.sleep(seconds)


def is_sound(engine: Engine) -> bool:
    return not any(state.stranded for state in engine.states())


# Order and exclusion


def test_events_of_a_key_come_in_order_and_to_one_at_a_time(engine: Engine) -> None:
    for number in range(5):
        engine.add("k", number)
    grant = take(engine)
    assert values(grant) == [0, 1, 2, 3, 4]
    assert nothing(engine, B)
    engine.add("k", 5)
    assert nothing(engine, B)
    more = turn(engine, A, done(grant, "more")).grant
    assert values(more) == [5]
    assert more is not None
    assert more.token == grant.token
    assert turn(engine, A, done(more, "more")).grant is None
    assert is_sound(engine)
    assert engine.counts().leased == 0


def test_values_are_bytes_or_json(engine: Engine) -> None:
    sent = [b"\x00\xff\n|", {"a": [1, None, "ö"]}, "text", 7, "\ud800", True, b""]
    engine.add_many("k", sent)
    assert values(take(engine)) == sent


def test_keys_of_other_processors_are_taken_meanwhile(engine: Engine) -> None:
    engine.add("one", 1)
    engine.add("two", 2)
    first, second = take(engine, A), take(engine, B)
    assert {first.key, second.key} == {"one", "two"}
    assert nothing(engine, Slot("c", 0))


def test_positions_and_tokens_grow_even_when_nothing_is_left_of_a_key(engine: Engine) -> None:
    seen: list[tuple[int, int]] = []
    for _ in range(4):
        engine.add("k", 1)
        grant = take(engine)
        seen.append((grant.token, grant.entries[0].position))
        turn(engine, A, done(grant))
    assert list(engine.states()) == []
    tokens, positions = zip(*seen, strict=True)
    assert list(tokens) == sorted(set(tokens))
    assert list(positions) == sorted(set(positions))


def test_an_event_that_comes_with_the_last_acknowledgement_wakes_its_key(engine: Engine) -> None:
    engine.add("k", 1)
    grant = take(engine)
    engine.add("k", 2)
    turn(engine, A, done(grant), claim=False)
    assert values(take(engine, B)) == [2]


def test_groups_take_turns(engine: Engine) -> None:
    if engine.shards > 1:
        pytest.skip("a shard takes turns by itself")
    for number in range(6):
        engine.add(f"busy/{number}", 0)
    engine.add("quiet/0", 0)
    order = []
    while (found := turn(engine, A).grant) is not None:
        order.append(found.key)
        turn(engine, A, done(found), claim=False)
    assert order.index("quiet/0") <= 1
    assert len(order) == 7


# Acknowledgements


def test_an_acknowledgement_is_absolute(engine: Engine) -> None:
    engine.add_many("k", [1, 2, 3])
    grant = take(engine)
    outcome = done(grant, "more", 2)
    assert values(turn(engine, A, outcome).grant) == [3]
    assert values(turn(engine, A, outcome).grant) == [3]
    assert [decode_value(one.value) for one in engine.peek("k")] == [3]


def test_a_part_of_a_batch_is_acknowledged(engine: Engine) -> None:
    engine.add_many("k", [1, 2, 3])
    turn(engine, A, done(take(engine), "rest", 1), claim=False)
    assert values(take(engine, B)) == [2, 3]


def test_the_outcome_of_a_lost_lease_changes_nothing(engine: Engine) -> None:
    engine.add_many("k", [1, 2])
    late = take(engine, A, replace(TERMS, lease=SHORT))
    after(2 * SHORT)
    other = take(engine, B)
    assert other.token > late.token
    for what in ("more", "rest", "end", "fail", "later", "dead"):
        found = turn(engine, A, done(late, what), claim=False)  # type: ignore[arg-type]
        assert (found.grant, found.lost) == (None, True)
    assert engine.look("k").token == other.token
    assert engine.look("k").waiting == 2
    assert engine.renew(engine.shard_of("k"), "a", TERMS, {"k": late.token}) == ["k"]
    assert not engine.progress("k", late.token, late.entries[0].position, b"j1")


def test_after_a_lost_lease_events_come_singly_until_the_crash_is_passed(engine: Engine) -> None:
    engine.add_many("k", [1, 2])
    take(engine, A, replace(TERMS, lease=SHORT))
    engine.add_many("k", [3, 4])
    after(2 * SHORT)
    grant = take(engine, B)
    assert (values(grant), grant.deliveries) == ([1], 2)
    grant = turn(engine, B, done(grant, "more")).grant
    assert grant is not None
    assert (values(grant), grant.deliveries) == ([2], 1)
    assert values(turn(engine, B, done(grant, "more")).grant) == [3, 4]


def test_a_renewed_lease_holds(engine: Engine) -> None:
    engine.add("k", 1)
    short = replace(TERMS, lease=0.5)
    grant = take(engine, A, short)
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        assert (
            engine.renew(engine.shard_of("k"), "a", replace(short, lease=30), {"k": grant.token})
            == []
        )
        assert nothing(engine, B)
        after(SHORT)
    assert not turn(engine, A, done(grant)).lost


# Failures


def test_a_failed_event_waits_at_the_head_of_its_key(engine: Engine) -> None:
    engine.add_many("k", [1, 2])
    grant = take(engine)
    turn(engine, A, done(grant, "fail", 0, delay=0.2, error="no"), claim=False)
    state = engine.look("k")
    assert (state.status, state.error, state.deliveries) == ("backing off", "no", 1)
    assert nothing(engine)
    after(0.25)
    grant = take(engine)
    assert (values(grant), grant.deliveries) == ([1, 2], 2)


def test_a_failure_behind_acknowledged_events_counts_for_the_next(engine: Engine) -> None:
    engine.add_many("k", [1, 2])
    turn(engine, A, done(take(engine), "fail", 1, delay=0.0, error="no"), claim=False)
    grant = take(engine)
    assert (values(grant), grant.deliveries) == ([2], 2)


def test_later_counts_no_attempt(engine: Engine) -> None:
    engine.add("k", 1)
    for _ in range(3):
        grant = take(engine)
        assert grant.deliveries == 1
        turn(engine, A, done(grant, "later", 0), claim=False)
    turn(engine, A, done(take(engine), "later", 0, delay=60), claim=False)
    state = engine.look("k")
    assert (state.status, state.deliveries) == ("waits", 0)


def test_a_dead_letter_holds_its_key_until_it_is_redriven(engine: Engine) -> None:
    engine.add_many("k", [1, 2])
    turn(engine, A, done(take(engine), "dead", 0, error="poison"), claim=False)
    (letter,) = engine.dead()
    assert (letter.key, decode_value(letter.entry.value), letter.reason) == ("k", 1, "poison")
    assert engine.look("k").status == "paused"
    assert nothing(engine)
    assert engine.redrive("k", letter.entry.position)
    assert not engine.redrive("k", letter.entry.position)
    grant = take(engine)
    assert (values(grant), grant.deliveries) == ([1, 2], 1)
    assert engine.dead() == []


def test_a_dropped_dead_letter_holds_no_key(engine: Engine) -> None:
    engine.add_many("k", [1, 2])
    turn(engine, A, done(take(engine), "dead", 0, error="poison"), claim=False)
    assert engine.drop("k", engine.dead()[0].entry.position)
    assert values(take(engine)) == [2]


def test_a_skipped_dead_letter_goes_back_to_the_head_with_a_new_position(engine: Engine) -> None:
    skip = replace(TERMS, on_dead="skip")
    engine.add_many("k", [1, 2])
    turn(engine, A, done(take(engine), "dead", 0, error="poison"), terms=skip, claim=False)
    grant = take(engine, A, skip)
    assert values(grant) == [2]
    letter = engine.dead()[0].entry.position
    with pytest.raises(BusyError):
        engine.redrive("k", letter)
    turn(engine, A, done(grant), claim=False)
    engine.add("k", 3)
    assert engine.redrive("k", letter)
    again = take(engine)
    assert values(again) == [1, 3]
    positions = [grant.entries[0].position, *(entry.position for entry in again.entries)]
    assert positions == sorted(set(positions))


def test_an_event_that_kills_its_processors_ends_as_a_dead_letter(engine: Engine) -> None:
    short = replace(TERMS, lease=SHORT, max_deliveries=2, on_dead="skip")
    engine.add_many("k", [1, 2])
    for deliveries in (1, 2):
        assert take(engine, A, short).deliveries == deliveries
        after(2 * SHORT)
    assert values(take(engine, A, replace(short, lease=30))) == [2]
    assert "2 deliveries" in engine.dead()[0].reason


# At most once


def test_at_most_once_hands_out_no_event_twice(engine: Engine) -> None:
    once = replace(TERMS, lease=SHORT, at_most_once=True)
    engine.add_many("k", [1, 2, 3])
    assert values(take(engine, A, once)) == [1]
    after(2 * SHORT)
    grant = take(engine, B, replace(once, lease=30))
    assert values(grant) == [2]
    assert values(turn(engine, B, done(grant, "more"), once).grant) == [3]


# Scheduling


def test_a_scheduled_event_comes_in_time(engine: Engine) -> None:
    id = engine.add("k", 1, delay=0.3)
    assert nothing(engine)
    (waiting,) = engine.scheduled()
    assert (waiting.id, waiting.key, decode_value(waiting.value)) == (id, "k", 1)
    after(0.35)
    assert values(take(engine)) == [1]
    assert engine.scheduled() == []


def test_a_scheduled_event_is_cancelled(engine: Engine) -> None:
    id = engine.add("k", 1, id="mine", at=datetime.now(timezone.utc) + timedelta(seconds=0.2))
    assert id == "mine"
    assert engine.cancel("mine")
    assert not engine.cancel("mine")
    after(0.25)
    assert nothing(engine)


def test_an_id_that_is_scheduled_is_not_added_beside(engine: Engine) -> None:
    engine.add("k", 1, id="one", delay=60)
    engine.add("k", 2, id="one")
    assert nothing(engine)
    assert [one.id for one in engine.scheduled()] == ["one"]


def test_an_id_is_added_once(engine: Engine) -> None:
    engine.add("k", 1, id="mine")
    engine.add("k", 2, id="mine")
    engine.add("k", 3, id="other", delay=0.0)
    engine.add("k", 4, id="other", delay=0.0)
    turns = [*values(turn(engine, A).grant)]
    assert turns == [1, 3]


# Sessions


def test_events_wait_for_a_start(engine: Engine) -> None:
    engine.add("k", 1, start=False)
    assert nothing(engine)
    assert engine.look("k").status == "waiting for a start"
    engine.add("k", 2)
    grant = take(engine)
    assert (values(grant), grant.starts) == ([1, 2], True)
    engine.add("k", 3, start=False)
    turn(engine, A, done(grant, "end"), claim=False)
    assert nothing(engine)
    assert is_sound(engine)


def test_a_key_that_is_let_go_keeps_the_session_of_the_events_that_wait(engine: Engine) -> None:
    terms = replace(TERMS, batch=1)
    engine.add("k", 1)
    engine.add("k", 2, start=False)
    engine.add("k", 3, start=False)
    seen = []
    for _ in range(3):  # each time others get their turn, as after a long event
        grant = take(engine, A, terms)
        seen += values(grant)
        turn(engine, A, done(grant, "rest"), terms, claim=False)
    assert seen == [1, 2, 3]
    engine.add("k", 4, start=False)
    assert nothing(engine, A, terms)
    assert is_sound(engine)


def test_a_session_stays_open_until_it_is_idle_for_too_long(engine: Engine) -> None:
    terms = replace(TERMS, idle_timeout=0.3)
    engine.add("k", 1)
    grant = take(engine, A, terms)
    turn(engine, A, done(grant), terms, claim=False)
    engine.add("k", 2, start=False)
    grant = take(engine, A, terms)
    assert (values(grant), grant.starts) == ([2], False)
    turn(engine, A, done(grant), terms, claim=False)
    after(0.4)
    assert nothing(engine, A, terms)
    engine.add("k", 3, start=False)
    assert nothing(engine, A, terms)


def test_another_processor_starts_anew(engine: Engine) -> None:
    terms = replace(TERMS, idle_timeout=60)
    engine.add("k", 1)
    turn(engine, A, done(take(engine, A, terms)), terms, claim=False)
    engine.add("k", 2)
    assert take(engine, B, terms).starts


def test_a_key_sticks_to_its_processor_while_it_lives(engine: Engine) -> None:
    terms = replace(TERMS, sticky=0.5, lease=30)
    shard = engine.shard_of("k")
    engine.renew(shard, "a", terms, {})
    engine.add("k", 1)
    turn(engine, A, done(take(engine, A, terms)), terms, claim=False)
    engine.add("k", 2)
    assert nothing(engine, B, terms)
    grant = take(engine, A, terms)
    turn(engine, A, done(grant), terms, claim=False)
    engine.add("k", 3)
    after(0.6)
    assert values(take(engine, B, terms)) == [3]
    assert is_sound(engine)


@pytest.mark.parametrize(("sticky", "idle"), [(SHORT, 0.0), (SHORT, SHORT), (2 * SHORT, SHORT)])
def test_a_key_that_stuck_to_a_processor_is_forgotten(
    engine: Engine, sticky: float, idle: float
) -> None:
    """Keys come and go, by the million: what is left of each must go too."""
    terms = replace(TERMS, sticky=sticky, idle_timeout=idle)
    engine.add("k", 1)
    turn(engine, A, done(take(engine, A, terms)), terms)
    assert len(list(engine.states())) == 1
    for _ in range(3):
        after(2 * SHORT)
        assert nothing(engine, A, terms)
    assert list(engine.states()) == []


def test_keys_that_stick_to_a_processor_starve_no_others(engine: Engine) -> None:
    terms = replace(TERMS, sticky=60)
    other = next(f"n{i}" for i in range(100) if engine.shard_of(f"n{i}") == engine.shard_of("k"))
    engine.renew(engine.shard_of("k"), "a", terms, {})
    engine.add("k", 1)
    turn(engine, A, done(take(engine, A, terms)), terms, claim=False)
    engine.add(other, 2)
    engine.add("k", 3)
    grant = take(engine, A, terms)
    assert values(grant) == [2]
    assert values(turn(engine, A, done(grant), terms).grant) == [3]


def test_a_key_leaves_a_processor_that_is_gone(engine: Engine) -> None:
    terms = replace(TERMS, sticky=60, lease=0.2)
    engine.renew(engine.shard_of("k"), "a", terms, {})
    engine.add("k", 1)
    turn(engine, A, done(take(engine, A, replace(terms, lease=30))), terms, claim=False)
    engine.add("k", 2)
    after(0.3)
    assert values(take(engine, B, terms)) == [2]


# Limits


def test_a_backlog_has_an_end(engine: Engine) -> None:
    engine.add_many("k", list(range(999)))
    engine.add("k", 999)
    with pytest.raises(BacklogFull, match="1,000"):
        engine.add("k", 1000)
    engine.add("other", 1)


def test_events_expire(engine: Engine) -> None:
    engine.add("k", 1, ttl=0.1)
    engine.add("k", 2, ttl=30)
    engine.add("gone", 1, ttl=0.1)
    after(0.2)
    turns = [engine.turn(shard, A, TERMS) for shard in range(engine.shards) for _ in range(2)]
    assert [values(one.grant) for one in turns if one.grant is not None] == [[2]]
    assert sum(one.expired for one in turns) == 2
    assert is_sound(engine)


def test_a_limit_holds_over_all_processors(engine: Engine) -> None:
    if engine.shards > 1:
        pytest.skip("each shard has its share of the limit")
    limited = replace(TERMS, limit=2)
    for number in range(4):
        engine.add(f"k{number}", 1)
    first, _ = take(engine, A, limited), take(engine, B, limited)
    assert nothing(engine, Slot("c", 0), limited)
    assert turn(engine, A, done(first), limited).grant is not None


@pytest.mark.parametrize(
    ("key", "value", "others"),
    [
        ("", 1, {}),
        ("k", None, {}),
        ("k", object(), {}),
        ("k" * 2000, 1, {}),
        ("k\n", 1, {}),
        ("_lake/x", 1, {}),
        ("\ud800", 1, {}),
        ("k", b"x" * 2**21, {}),
        ("k", 1, {"delay": -1}),
        ("k", 1, {"ttl": 0}),
        ("k", 1, {"id": ""}),
        ("k", 1, {"at": datetime(2026, 1, 1)}),
        ("k", 1, {"at": datetime(2026, 1, 1, tzinfo=timezone.utc), "delay": 1}),
    ],
)
def test_what_no_engine_can_hold_is_refused(
    key: str, value: object, others: dict[str, object]
) -> None:
    with MemoryEngine() as engine, pytest.raises(BadEvent, match="expected"):
        engine.add(key, value, **others)  # type: ignore[arg-type]


def test_adding_needs_an_open_engine(engine: Engine) -> None:
    engine.close()
    with pytest.raises(ConfigError, match="not open"):
        engine.add("k", 1)


# Values of a key


def test_a_value_is_written_with_the_acknowledgement(engine: Engine) -> None:
    engine.add("k", 1)
    turn(engine, A, done(take(engine), "rest", state=b"j7"), claim=False)
    engine.add("k", 2)
    grant = take(engine)
    assert grant.state == b"j7"
    assert engine.progress("k", grant.token, grant.entries[0].position, b"j50")
    turn(engine, A, done(grant, "fail", 0, state=b"j8"), claim=False)
    grant = take(engine)
    assert (grant.state, grant.progress) == (b"j8", b"j50")
    engine.add("k", 3)
    more = turn(engine, A, done(grant, "more")).grant
    assert more is not None
    assert more.progress == b""


# People


def test_a_paused_key_waits(engine: Engine) -> None:
    engine.add("k", 1)
    engine.pause("k", "for now")
    assert nothing(engine)
    assert (engine.look("k").status, engine.look("k").reason) == ("paused", "for now")
    assert engine.resume("k")
    assert not engine.resume("k")
    grant = take(engine)
    engine.add("k", 2)
    engine.pause("k", "for now")
    assert turn(engine, A, done(grant, "more")).grant is None
    engine.add("k", 3)
    assert nothing(engine)
    engine.resume("k")
    assert values(take(engine)) == [2, 3]


@pytest.mark.parametrize("reason", ["", "dead", "dead, and more"])
def test_a_pause_has_a_reason_that_is_no_dead_letters(engine: Engine, reason: str) -> None:
    engine.add("k", b"1")
    with pytest.raises(ConfigError, match="reason"):
        engine.pause("k", reason)
    assert engine.look("k").status == "ready"


def test_a_dead_letter_ends_no_pause_and_a_pause_no_dead_letter(engine: Engine) -> None:
    for first in ("pause", "dead letter"):
        key = f"{first} first"
        engine.add_many(key, [1, 2, 3])
        grant = take(engine)
        if first == "pause":
            engine.pause(key, "for now")
        turn(engine, A, done(grant, "dead", 0, error="poison"), claim=False)
        if first == "dead letter":
            engine.pause(key, "for now")
        assert pauses(engine.look(key).reason) == (True, "for now")
        assert engine.resume(key)
        assert pauses(engine.look(key).reason) == (True, "")
        assert nothing(engine)
        engine.pause(key, "again")
        (letter,) = engine.dead()
        assert engine.redrive(key, letter.entry.position)
        assert pauses(engine.look(key).reason) == (False, "again")
        assert nothing(engine)
        assert not engine.look(key).stranded
        assert engine.resume(key)
        grant = take(engine)
        assert values(grant) == [1, 2, 3]
        turn(engine, A, done(grant), claim=False)


def test_a_key_that_two_dead_letters_hold(engine: Engine) -> None:
    engine.add_many("k", [1, 2, 3])
    for _ in range(2):
        turn(engine, A, done(take(engine), "dead", 0, error="poison"), claim=False)
        engine.resume("k")
    engine.pause("k", "for now")
    turn(engine, A)
    engine.resume("k")
    turn(engine, A, done(take(engine), "dead", 0, error="poison"), claim=False)
    first, second, third = (letter.entry.position for letter in engine.dead())
    assert engine.redrive("k", third)
    assert (engine.look("k").status, engine.look("k").stranded) == ("paused", False)
    assert engine.drop("k", second)
    assert engine.redrive("k", first)
    assert values(take(engine)) == [1, 3]


def test_a_key_says_why_it_does_not_move(engine: Engine) -> None:
    engine.add("k", 1)
    assert engine.look("k").status == "ready"
    grant = take(engine)
    state = engine.look("k")
    assert (state.status, state.holder, state.token) == ("leased", "a/0", grant.token)
    assert state.since is not None
    assert state.until is not None
    assert state.until - state.since == pytest.approx(30, abs=0.1)
    assert engine.look("unknown") == KeyState("unknown", "idle", 0)


def test_counts(engine: Engine) -> None:
    engine.add("k", 1)
    engine.add("l", 1)
    engine.add("m", 1, delay=60)
    take(engine)
    counts = engine.counts()
    assert (counts.ready, counts.leased, counts.scheduled, counts.dead) == (1, 1, 1, 0)
    assert 0 <= counts.oldest < 60


# Sources


def test_a_source_moves_its_place_with_its_events_or_not_at_all(engine: Engine) -> None:
    items = [Item(b"j1", source="log:1"), Item(b"j2", source="log:2")]
    assert engine.hand_over("name", "k", "", "log:2", items) == "log:2"
    assert engine.hand_over("name", "k", "", "log:2", items) == "log:2"  # sent again
    assert engine.hand_over("name", "k", "", "log:1", items[:1]) == "log:2"  # another poller
    assert engine.hand_over("name", "k", "log:2", "log:3", []) == "log:3"
    grant = take(engine)
    assert [entry.source for entry in grant.entries] == ["log:1", "log:2"]
    assert engine.places("name") == {"k": "log:3"}
    assert engine.places("other") == {}


def test_a_source_waits_where_a_backlog_is_full(engine: Engine) -> None:
    engine.add_many("k", list(range(1000)))
    assert engine.hand_over("name", "k", "", "log:1", [Item(b"j1")]) is None
    assert engine.places("name") == {}


# Waiting


def test_a_listener_wakes_for_news(engine: Engine) -> None:
    listener = engine.listener("a")
    listener.wait(0.01)
    for shard in range(engine.shards):
        engine.turn(shard, A, TERMS, announce=True)
    engine.add("k", 1)
    began = time.monotonic()
    listener.wait(60)
    assert time.monotonic() - began < 30
    listener.interrupt()
    listener.wait(60)
    assert time.monotonic() - began < 30
    listener.close()


# Opening


def test_what_people_do_is_known_as_done_when_its_answer_is_lost(
    valkey: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(valkey.url, namespace=new_namespace())
    assert isinstance(engine, RedisEngine)
    answer, lost = Connection._answer, []

    def lose_first(*args: Any) -> Any:
        found = answer(*args)
        if not lost:
            lost.append(found)
            raise redis.ConnectionError("cut")
        return found

    monkeypatch.setattr(Connection, "_answer", lose_first)

    def cut() -> None:
        lost.clear()

    id = engine.add("k", 1, delay=60)
    cut()
    assert engine.cancel(id)
    assert not engine.cancel(id)
    engine.add_many("k", [1, 2])
    engine.pause("k", "for now")
    cut()
    assert engine.resume("k")
    assert not engine.resume("k")
    turn(engine, A, done(take(engine), "dead", 0, error="poison"), claim=False)
    (letter,) = engine.dead()
    cut()
    assert engine.redrive("k", letter.entry.position)
    assert not engine.redrive("k", letter.entry.position)
    turn(engine, A, done(take(engine), "dead", 0, error="poison"), claim=False)
    (letter,) = engine.dead()
    cut()
    assert engine.drop("k", letter.entry.position)
    assert not engine.drop("k", letter.entry.position)
    assert values(take(engine)) == [2]


def test_an_engine_of_another_kind_is_refused(valkey: Server) -> None:
    name = new_namespace()
    open_engine(valkey.url, namespace=name, shards=2).close()
    with pytest.raises(ConfigError, match="made with 2"):
        open_engine(valkey.url, namespace=name)
    with valkey.client() as client:
        client.hset(f"{{{name}:0}}:meta", "format", 7)
    with pytest.raises(UnsupportedFormat, match="found 7"):
        open_engine(valkey.url, namespace=name, shards=2)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("kafka://x", BadLocation),
        ("sqlite:////no/such/folder/x.db", BadLocation),
        ("sqlite:///x.db?colour=red", ConfigError),
        ("sqlite:///x.db?synchronous=maybe", ConfigError),
        ("redis://127.0.0.1:1/0?shards=none", ConfigError),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(url: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        open_engine(url)


def test_scheduling_can_be_off() -> None:
    with (
        open_engine("sqlite:///:memory:?scheduling=off") as engine,
        pytest.raises(ConfigError, match="scheduling is off"),
    ):
        engine.add("k", 1, delay=1)


def test_a_password_is_never_shown() -> None:
    engine = RedisEngine("redis://user:secret@127.0.0.1:1/0", patience=0.0)
    assert "secret" not in engine.url
    with pytest.raises(Unavailable) as raised:
        engine.open()
    assert "secret" not in str(raised.value)
