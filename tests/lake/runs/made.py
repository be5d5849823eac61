"""Runs for tests: documents that look as a target's do."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from singerlake.format import run
from singerlake.format.run import RunDocument, RunStream
from singerlake.format.run_keys import RunKeys
from tests.lake.landing import EPOCH, TAP

RUNS = RunKeys(TAP)


def made(number: int, *, begun: datetime | None = None, **fields: Any) -> RunDocument:
    """The run of an hour."""
    begun = begun or EPOCH + timedelta(hours=number)
    known: dict[str, Any] = {
        "tap_id": TAP,
        "run_id": f"run-{number}",
        "writer_id": f"writer-{number}",
        "begun": begun,
        "ended": begun + timedelta(minutes=5),
        "outcome": "complete",
        "streams": {"orders": RunStream(records=number)},
    }
    return run.new(**{**known, **fields})
