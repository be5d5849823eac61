"""A pin: a state of the whole lake under a name, so that readers come back to it.

It holds a bookmark for each stream that had a commit, one for each tap's run log, and the runs that
had not ended. A pin is written once and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from singerlake.format import document, times
from singerlake.format.document import Count, Moment

KIND = "singerlake.pin"


class PinnedStream(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a stream ended: the pin reads everything up to `sequence` of this log.

    `check` has eight digits of the checksum of the file that was committed under `sequence`.
    `gone` counts the numbers up to there that no file bore any more: once there are more, the state
    that was pinned is not whole. `revision` is the newest change of older rows; pins of before have
    none.
    """

    log_id: str
    sequence: Count
    check: str = ""
    gone: Count = 0
    revision: Count | None = None


class PinnedRuns(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the run log of a tap ended: `sequence` is the number of its last row."""

    log_id: str
    sequence: Count
    check: str = ""


class UnendedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that had committed, and had no document. `outcome` is how it looked."""

    tap_id: str
    run_id: str
    writer_id: str
    outcome: Literal["open", "lost"]

    @property
    def identity(self) -> tuple[str, str]:
        """What tells this run from every other of its tap."""
        return self.run_id, self.writer_id


class Pin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A state of the lake. `until` is when it ends to hold anything, None for never; `id` makes
    the bytes of every pin unique."""

    format: str
    format_version: int
    name: str
    id: str
    created: Moment
    by: str = ""
    until: Moment | None = None
    taps: dict[str, dict[str, PinnedStream]]
    runs: tuple[UnendedRun, ...]
    run_logs: dict[str, PinnedRuns] = {}

    def stream(self, tap_id: str, stream: str) -> PinnedStream | None:
        """Where a stream ended; None where it had no commit."""
        return self.taps.get(tap_id, {}).get(stream)

    def streams(self) -> Iterator[tuple[str, str, PinnedStream]]:
        """Each tap, stream and place."""
        for tap_id, streams in self.taps.items():
            for stream, place in streams.items():
                yield tap_id, stream, place

    def has_expired(self, now: datetime) -> bool:
        """Whether it holds nothing any more."""
        return self.until is not None and self.until <= now

    def unended(self, tap_id: str) -> Mapping[tuple[str, str], str]:
        """How the runs of a tap looked that had not ended."""
        return {run.identity: run.outcome for run in self.runs if run.tap_id == tap_id}


def new(**fields: Any) -> Pin:
    return Pin(format=KIND, format_version=document.VERSION, **fields)


def _require(pin: Pin) -> None:
    if not pin.name:
        raise ValueError("a pin without a name")
    for tap_id, stream, place in pin.streams():
        if not place.log_id or not place.sequence:
            raise ValueError(f"stream {stream!r} of {tap_id!r} without a place in a log")
    for tap_id, runs in pin.run_logs.items():
        if not runs.log_id or not runs.sequence:
            raise ValueError(f"the runs of {tap_id!r} without a place in a log")
    times.require_utc((pin.created, *([pin.until] if pin.until else [])))


decode = document.reader(Pin, KIND, sealed=True, require=_require)


def encode(pin: Pin) -> bytes:
    return document.seal(document.encode(pin))
