"""A tap's recent runs as its page shows them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from singerlake.errors import BadName, DamageError, UnknownTap
from singerlake.lake import Run, Tap

RECENT = 10
"""Runs that a page shows."""

FEW = 200
"""Streams up to which runs are shown that left commits and no document: each costs a request."""

_LEVELS = {"complete": "key", "ended": "leftover", "open": "leftover"}


@dataclass(frozen=True)
class RunFacts:
    """One run: `level` is how the page marks its outcome."""

    run_id: str
    outcome: str
    level: str
    begun: datetime
    duration: str
    records: int
    streams: int


def recent_runs(tap: Tap, streams: int) -> tuple[RunFacts, ...]:
    """The newest first; none of a tap that has nothing."""
    try:
        found = _found(tap, streams)
    except UnknownTap:
        return ()
    return tuple(_facts(run) for run in reversed(found))


def _found(tap: Tap, streams: int) -> list[Run]:
    if streams <= FEW:
        # A stream whose manifest cannot be read is a problem of that stream.
        with suppress(DamageError, BadName):
            return tap.runs(open=True, limit=RECENT)
    return tap.runs(limit=RECENT)


def _facts(run: Run) -> RunFacts:
    return RunFacts(
        run.run_id,
        run.outcome,
        _LEVELS.get(run.outcome, "error"),
        run.begun,
        _text(run.duration),
        run.records,
        len(run.streams),
    )


def _text(span: timedelta) -> str:
    seconds = round(span.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
