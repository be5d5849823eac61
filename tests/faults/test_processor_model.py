"""The processor's protocol: all interleavings of our own Lua files, beside broken ones."""

from __future__ import annotations

import pytest

from singerlake.processor.engine.redis.script import NAMES, script
from tests.faults.processor_explore import explore
from tests.faults.processor_model import Bounds, ProcessorModel, State
from tests.faults.processor_mutants import MUTANTS, Mutant
from tests.faults.processor_original import Original
from tests.faults.result import Line
from tests.faults.scale import scaled

SUITE, HERE = "Processor", "tests/faults/test_processor_model.py"

CASES = {
    "crash, lease lost, answer lost": Bounds(),
    "the same, sent again by the client library": Bounds(flagged=False),
    "at most once": Bounds(at_most_once=True),
    "a poison event": Bounds(crashes=3, lapses=0, cuts=0, deliveries=2),
    "failures, later, dead letters": Bounds(failures=1, cuts=0, lapses=0),
}
WHOLE = {
    "three events": Bounds(events=3),
    "at most once, three events": Bounds(events=3, at_most_once=True, lapses=2),
    "three workers": Bounds(workers=3, lapses=2, cuts=0),
    "failures and lost answers": Bounds(failures=1, crashes=0),
    "two crashes and two lost leases": Bounds(crashes=2, lapses=2, cuts=0),
    "two lost answers": Bounds(crashes=0, cuts=2),
    "three events one by one": Bounds(events=3, batch=1, cuts=0, lapses=2),
}


class WithPoison(ProcessorModel):
    """A promise of its own: an event has no more deliveries without an outcome than allowed."""

    def violations(self, state: State) -> set[str]:
        found = super().violations(state)
        if state.crashes == 0 and self.bounds.crashes > self.bounds.deliveries:
            lives = sum(worker.lives for worker in state.workers)
            dead = any(key.endswith("dead") for key, _ in state.server)
            begun = any(worker.at == "working" and worker.done == 0 for worker in state.workers)
            again = self._first_is_handed(state)
            if lives >= self.bounds.crashes and begun and again and not dead and not state.order:
                found.add("ENDLESS")
        return found

    def _first_is_handed(self, state: State) -> bool:
        first = state.all_positions[:1]
        return any(worker.positions[:1] == first for worker in state.workers)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *scaled({}, WHOLE)])
def test_the_scripts_keep_every_promise(name: str) -> None:
    bounds = {**CASES, **WHOLE}[name]
    line = Line(
        SUITE, f"model: {name}", HERE, bounds=f"{bounds.events} events, {bounds.workers} workers"
    )
    found = explore(WithPoison(bounds), scaled(60_000, 2_000_000))
    line.runs, line.violations = found.states, len(found.violations)
    line.keep()
    assert found.is_complete
    assert found.done > 0
    assert found.traces == {}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_a_script_without_a_safeguard_is_seen(mutant: Mutant) -> None:
    line = Line(SUITE, f"mutant: {mutant.name}", HERE)
    texts = [script(name).text for name in NAMES]
    assert any(mutant.old in text for text in texts), "the mutant changes nothing"
    found = explore(WithPoison(mutant.bounds, mutant.change()), 60_000, mutant.expected)
    line.runs = found.states
    line.control(mutant.expected in found.violations, (mutant.name, found.violations))


ORIGINAL = {
    "a start event between the last event and the unlock": (Original(idle=1), "STRANDED"),
    "a crash while stopping": (Original(idle=1, crashes=1), "STRANDED"),
    "a slow client loses events": (Original(pauses=1), "LOST"),
    "a slow client works beside another": (Original(pauses=1), "TWO_AT_ONCE"),
    "a slow client inverts the order": (Original(pauses=1, at_most_once=True), "ORDER"),
}


@pytest.mark.parametrize("name", ORIGINAL)
def test_the_original_protocol_breaks_its_promises(name: str) -> None:
    model, expected = ORIGINAL[name]
    line = Line(SUITE, f"the original protocol: {name}", HERE)
    found = explore(model, 200_000)
    line.runs = found.states
    line.control(expected in found.violations, (name, found.violations))
    assert len(found.traces[expected]) > 3
