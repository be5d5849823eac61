"""`singerlake process why`: why a key does not move."""

from __future__ import annotations

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.name import shown
from singerlake.cli.process.engine import (
    engine_command,
    key_argument,
    letter_as_json,
    moment,
    state_as_json,
)
from singerlake.processor import Engine
from singerlake.processor.engine.values import RENUMBERED, KeyState, pauses


@engine_command
@key_argument
def why(engine: Engine, key: str, as_json: bool) -> None:
    """Say why a key does not move.

    By whom it is leased and since when, behind which event, whether it is paused, backs off, or is
    held by a dead letter.

    \b
    Examples:
      singerlake process why tap-github--meltano/issues
    """
    state = engine.look(key)
    letters = [letter for letter in engine.dead() if letter.key == key]
    text = explained(state)
    if as_json:
        dead = [letter_as_json(letter) for letter in letters]
        print_json({**state_as_json(state), "why": text, "dead_letters": dead})
        return
    say(shown(text))
    for letter in letters:
        say(f"dead letter {letter.entry.position}: ", shown(letter.reason))


def explained(state: KeyState) -> str:
    """One sentence for people."""
    behind = ""
    if state.head is not None:
        behind = f"; event {state.head.position} of {moment(state.head.added)} is next"
    waiting = f"{plural(state.waiting, 'event')} waiting{behind}"
    if state.stranded:
        return f"stranded: {waiting}, and nothing leads to its processing; report this"
    if state.status == "leased":
        return (
            f"leased by {state.holder} since {moment(state.since)}, until {moment(state.until)} "
            f"unless it is renewed; delivery {state.deliveries}; {waiting}"
        )
    if state.status == "backing off":
        error = f": {state.error}" if state.error else ""
        failures = plural(state.deliveries, "failure")
        return f"backing off until {moment(state.until)} after {failures}{error}"
    if state.status == "waits":
        return f"put back until {moment(state.until)}, without a failure; {waiting}"
    if state.status == "paused":
        return f"{_paused(state)}; {waiting}"
    if state.status == "waiting for a start":
        return f"no event has opened a session; {waiting}"
    if state.status == "ready":
        return f"ready for a processor; {waiting}. Is one running, and has it a free slot?"
    return "idle: no event waits"


def _paused(state: KeyState) -> str:
    key = state.key
    is_dead, reason = pauses(state.reason)
    found = []
    if is_dead:
        found.append(
            f"held by a dead letter: `singerlake process dead redrive {key}`, or dead drop"
        )
    if reason.startswith(RENUMBERED):
        reason = reason.removeprefix(RENUMBERED)
        found.append(f"stopped, for the numbers of its stream are others now ({reason})")
    elif reason:
        found.append(f"paused: {reason}")
    return "; ".join(found)
