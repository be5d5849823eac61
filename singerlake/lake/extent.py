"""An extent: which commits of a stream a read covers, by run, and as of when.

An extent is what people ask for. Against a snapshot it becomes a `Selection` of sequence numbers,
which every reader understands, also within merged files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from singerlake.errors import ConfigError, MissingManifest, StaleBookmark
from singerlake.format import times
from singerlake.format.pin import Pin
from singerlake.lake import pins
from singerlake.lake.log import Selection
from singerlake.lake.run_numbers import (
    forgotten,
    numbers_of,
    where,
    with_last_numbers,
)
from singerlake.lake.runs import Run, history
from singerlake.lake.snapshot import Snapshot
from singerlake.store import Store

Runs = Literal["all", "last"] | tuple[str, ...]
"""All commits, those of the last complete run, or those of the runs with these ids."""

AsOf = int | datetime | str
"""A sequence number, a commit time, or the name of a pin or a run: `pin:` and `run:` say which, and
without them a pin comes first."""

PIN, RUN = "pin:", "run:"

COMPLETE = ("complete",)


@dataclass(frozen=True)
class Extent:
    """Which commits to read.

    `runs` are `all`, `last` (the newest complete run that was sent the stream), or run ids.
    `as_of` leaves out what was committed later than a sequence number, a time, a pin, or a run.
    `outcomes` are those of runs that `last` may take.
    """

    runs: Runs = "all"
    as_of: AsOf | None = None
    outcomes: tuple[str, ...] = COMPLETE

    @property
    def is_everything(self) -> bool:
        return self.runs == "all" and self.as_of is None


def parse_as_of(text: str) -> AsOf:
    """A sequence number, a time, or a name, as people write it."""
    if text.startswith((PIN, RUN)):
        return text
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        # Python 3.10 does not know the Z of UTC.
        return times.in_utc(datetime.fromisoformat(text.replace("Z", "+00:00")))
    except (OverflowError, ValueError):
        return text


ALL = Extent()


@dataclass(frozen=True)
class End:
    """Where a state of a stream ends: its last number, None for the newest, and the moment.

    `unended` has how runs looked that a pin saw before they ended, by run id and writer id.
    """

    until: int | None = None
    moment: datetime | None = None
    unended: Mapping[tuple[str, str], str] = field(default_factory=dict)


NOW = End()


@dataclass(frozen=True)
class Covered:
    """What an extent is in one snapshot. `run` is the last run, where that was asked for; `end` is
    where the state ends."""

    selection: Selection
    run: Run | None = None
    end: End = NOW


def covered(snapshot: Snapshot, extent: Extent, end: End | None = None) -> Covered:
    """The commits of an extent; `end` is that of its `as_of`, where the caller knows it.

    Raises `ConfigError` where there is no such run, or where nobody knows which commits are its;
    and `MissingManifest` for a stream that only a listing tells of.
    """
    if extent.is_everything:
        return Covered(Selection())
    if snapshot.by_listing:
        raise MissingManifest(
            f"{where(snapshot)}: its manifest is missing, and only the manifest knows runs and "
            "commit times; run `singerlake rebuild` first"
        )
    end = end or end_of(snapshot, extent.as_of)
    until = end.until
    if extent.runs == "all":
        return Covered(Selection(until=until), end=end)
    if extent.runs == "last":
        run = last_run(snapshot, extent.outcomes, end)
        return Covered(Selection(until=until, numbers=numbers_of(snapshot, [run])), run, end)
    chosen = [run for run_id in extent.runs for run in _named(snapshot, run_id)]
    return Covered(Selection(until=until, numbers=numbers_of(snapshot, chosen)), end=end)


def last_run(snapshot: Snapshot, outcomes: Sequence[str] = COMPLETE, end: End = NOW) -> Run:
    """The newest run of these outcomes that was sent the stream, of those that had ended by then.

    Raises `ConfigError` where there is none.
    """
    runs = history.logged(snapshot.store, snapshot.keys.tap_id)
    if not {"open", "lost"}.isdisjoint(outcomes):
        runs = history.with_unended(snapshot.store, snapshot.keys.tap_id)
    for run in reversed(ended_by(snapshot, runs, end)):
        if run.outcome in outcomes:
            return run
    named = history.of_stream(runs, snapshot.keys.stream)
    found = f"the newest is {named[-1].run_id} ({named[-1].outcome})" if named else "there is none"
    raise ConfigError(
        f"{where(snapshot)}: expected a run that is {' or '.join(outcomes)}, and of the runs that "
        f"were sent the stream {found}; `singerlake runs` lists them. A tap that sends no STATE "
        "needs the target's setting complete_without_state; `singerlake runs mark` corrects an "
        "outcome; or ask for a run by its id"
    )


def ended_by(snapshot: Snapshot, runs: Iterable[Run], end: End) -> list[Run]:
    """Those of the runs that were sent the stream and had ended by then, the newest last.

    A run that a pin saw before it ended has the outcome that it had then.
    """
    newest = snapshot.manifest.last_sequence if end.until is None else end.until
    found = []
    sent = history.of_stream(runs, snapshot.keys.stream)
    # Where all commits count, so does each run of an older log, and nobody need know its numbers.
    numbered = with_last_numbers(snapshot, sent, by_rows=end.until is not None)
    for run, number, has_own in numbered:
        # A run may have ended since the snapshot was taken, which then has only some of it.
        had_ended = end.moment is None or run.ended <= end.moment or has_own
        if number <= newest and had_ended:
            seen: Any = end.unended.get(run.identity, run.outcome)
            found.append(replace(run, outcome=seen))
    return found


def end_of(snapshot: Snapshot, as_of: AsOf | None) -> End:
    """Where the state ends that was asked for.

    Raises `ConfigError` for a name that neither a pin nor a run has, and `StaleBookmark` or
    `MissingFile` where what was pinned cannot be read any more.
    """
    if as_of is None:
        return NOW
    if isinstance(as_of, datetime):
        moment = times.in_utc(as_of)
        return End(committed_until(snapshot, moment), moment)
    if isinstance(as_of, str):
        return _end_by_name(snapshot, as_of)
    row = next(snapshot.commits(Selection(since=as_of - 1, until=as_of)), None)
    return End(as_of, None if row is None else row.committed)


def require_streams(
    store: Store, tap_id: str, streams: Collection[str], as_of: AsOf | None
) -> None:
    """For whoever reads all streams of a tap: raises `StaleBookmark` where the state that was asked
    for has a stream that is not among them any more, since nobody would miss it."""
    asked = parse_as_of(as_of) if isinstance(as_of, str) else as_of
    pin = _pin_of(store, asked) if isinstance(asked, str) else None
    missing = sorted(pin.taps.get(tap_id, {}).keys() - set(streams)) if pin else []
    if pin and missing:
        raise StaleBookmark(
            f"pin {pin.name!r}: {store.url}: {tap_id!r} has lost what was pinned of the streams "
            f"{', '.join(map(repr, missing))}; restore them from a backup, name the streams to "
            "read, or remove the pin by `singerlake unpin`"
        )


def _pin_of(store: Store, name: str) -> Pin | None:
    """The pin of a name; None where it means a run. Raises `ConfigError`."""
    if name.startswith(PIN):
        return pins.read(store, name.removeprefix(PIN))
    return None if name.startswith(RUN) else pins.find(store, name)


def _end_by_name(snapshot: Snapshot, name: str) -> End:
    pin = _pin_of(snapshot.store, name)
    if pin is not None:
        unended = pin.unended(snapshot.keys.tap_id)
        return End(pins.end_of(pin, snapshot), pin.created, unended)
    named = _named(snapshot, name.removeprefix(RUN), or_pin=not name.startswith(RUN))
    run = (history.of_stream(named, snapshot.keys.stream) or named)[-1]
    return End(_last_of(snapshot, run), run.ended)


def _last_of(snapshot: Snapshot, run: Run) -> int:
    """The last number that the run committed; where it committed none, the last by its end."""
    left = run.streams.get(snapshot.keys.stream)
    if left is not None and left.last_sequence:
        if snapshot.knows(left.log_id, left.last_sequence):
            return left.last_sequence
        if numbers := numbers_of(snapshot, [run]):
            return numbers[-1][1]
    return committed_until(snapshot, run.ended)


def committed_until(snapshot: Snapshot, moment: datetime) -> int:
    """The last number of the longest beginning of the log in which no commit is later.

    Clocks of writers differ, so times need not grow with the numbers. A beginning of the log is a
    state that the stream once had; a choice by the time of each row might be none.
    Raises `ConfigError` where an older vacuum forgot the times that decide.
    """
    last = 0
    for row in snapshot.commits():
        if row.committed > moment:
            if row.merge is not None and row.parts > 1 and row.first <= moment:
                raise forgotten(snapshot, row, "commit time")
            break
        last = row.sequence
    return last


def _named(snapshot: Snapshot, run_id: str, or_pin: bool = False) -> list[Run]:
    """The runs with this id, the newest last. Raises `ConfigError`."""
    tap_id = snapshot.keys.tap_id
    for runs in (history.logged, history.with_unended):
        found = [run for run in runs(snapshot.store, tap_id) if run.run_id == run_id]
        if found:
            return found
    pinned = f", and the lake has no pin {run_id!r}; `singerlake pins` lists the pins, and"
    raise ConfigError(
        f"{where(snapshot)}: the tap has no run {run_id!r}{pinned if or_pin else ';'} "
        "`singerlake runs` lists its runs"
    )
