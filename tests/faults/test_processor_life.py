"""The processor's protocol with pauses, schedules, sessions and stickiness: all interleavings of
our own Lua files, beside broken ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from singerlake.processor.engine.redis.script import NAMES, script
from tests.faults.processor_explore import explore
from tests.faults.processor_life_model import LifeBounds, LifeModel
from tests.faults.result import Line
from tests.faults.scale import scaled

SUITE, HERE = "Processor", "tests/faults/test_processor_life.py"

SCHEDULED = LifeBounds(scheduled=1, cancels=1, crashes=0, lapses=0)
PAUSED = LifeBounds(pauses=1, lapses=0, crashes=0)
STICKY = LifeBounds(events=1, sticky=5000, lapses=0, cuts=0)
SESSIONS = LifeBounds(sessions=True, idle=5000, closed=True, lapses=0, cuts=0)
HELD = LifeBounds(hold=True, failures=1, redrives=1, pauses=1, crashes=0, lapses=0, cuts=0)

CASES = {
    "scheduled, cancelled, answers lost": SCHEDULED,
    "paused and resumed, answers lost": PAUSED,
    "stickiness": STICKY,
    "sessions that end": SESSIONS,
    "dead letters that hold, pauses, redrives": HELD,
}
WHOLE = {
    "stickiness, two events": LifeBounds(sticky=5000, lapses=0, cuts=0),
    "a schedule that crashes": LifeBounds(scheduled=1, cancels=1, lapses=0),
    "sessions and lost leases": LifeBounds(sessions=True, idle=5000, closed=True, cuts=0),
    "pauses and crashes": LifeBounds(pauses=1, lapses=1, cuts=0),
    "dead letters, answers lost": LifeBounds(
        hold=True, failures=1, redrives=1, crashes=0, lapses=0
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *scaled({}, WHOLE)])
def test_the_scripts_keep_every_promise(name: str) -> None:
    bounds = {**CASES, **WHOLE}[name]
    bounded = f"{bounds.events} events, {bounds.workers} workers"
    line = Line(SUITE, f"model: {name}", HERE, bounds=bounded)
    found = explore(LifeModel(bounds), scaled(60_000, 2_000_000))
    line.runs, line.violations = found.states, len(found.violations)
    line.keep()
    assert found.is_complete
    assert found.done > 0
    assert found.traces == {}


@dataclass(frozen=True)
class Mutant:
    name: str
    old: str
    new: str
    expected: str
    bounds: LifeBounds

    def change(self) -> Callable[[str, str], str]:
        return lambda _, text: text.replace(self.old, self.new)


MUTANTS = [
    Mutant(
        "a scheduled event that stays where it was",
        "  call('HDEL', P .. 'scheduled', id)\n  call('SET', P .. 'id:' .. id, key, 'PX', HOUR)\n",
        "",
        "STRANDED",
        LifeBounds(scheduled=1, cuts=0, crashes=0, lapses=0),
    ),
    Mutant(
        "a timer that is gone before its event is in the queue",
        "    if kind == 's' then append_scheduled(name)",
        "    if kind == 's' then",
        "STRANDED",
        LifeBounds(scheduled=1, cuts=0, crashes=0, lapses=0),
    ),
    Mutant(
        "a cancel that leaves the event",
        "local found = call('HDEL', P .. 'scheduled', ARGV[1])\n"
        "call('ZREM', P .. 'due', 's' .. ARGV[1])",
        "local found = call('HGET', P .. 'scheduled', ARGV[1]) and 1 or 0",
        "CANCELLED_BUT_DONE",
        SCHEDULED,
    ),
    Mutant(
        "a request that does not know that it was done",
        "if was_done(producer, request) then return 1 end",
        "",
        "DONE_BUT_DENIED",
        PAUSED,
    ),
    Mutant(
        "a key that goes into a line though it is paused",
        "  if state.p ~= '' then\n    state.w = '|'\n    return\n  end\n",
        "",
        "HANDED_OUT_WHILE_PAUSED",
        PAUSED,
    ),
    Mutant(
        "a resume that leaves the key where it waits",
        "  if state.p == '' and state.w == '|' then state.w = '' end",
        "",
        "STRANDED",
        PAUSED,
    ),
    Mutant(
        "a pause that ends the hold of a dead letter",
        "state.p = paused_by(is_held, extra)",
        "state.p = extra",
        "DEAD_LETTER_PASSED",
        HELD,
    ),
    Mutant(
        "a dead letter that ends a pause",
        "state.p = paused_by(true, reason)",
        "state.p = 'dead'",
        "HANDED_OUT_WHILE_PAUSED",
        HELD,
    ),
    Mutant(
        "a session that goes on though it is complete",
        "if completed or (idle == 0 and length == 0) then state.z = '' end",
        "",
        "NOT_STARTED",
        SESSIONS,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_a_script_without_a_safeguard_is_seen(mutant: Mutant) -> None:
    line = Line(SUITE, f"mutant: {mutant.name}", HERE)
    texts = [script(name).text for name in NAMES]
    assert any(mutant.old in text for text in texts), "the mutant changes nothing"
    found = explore(LifeModel(mutant.bounds, mutant.change()), 60_000, mutant.expected)
    line.runs = found.states
    line.control(mutant.expected in found.violations, (mutant.name, found.violations))
