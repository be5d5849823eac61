"""An extent: which commits of a stream a read covers, by run, and as of when.

An extent is what people ask for. Against a snapshot it becomes a `Selection` of sequence numbers,
which every reader understands, also within merged files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from singerlake.errors import ConfigError, MissingManifest
from singerlake.format import times
from singerlake.format.manifest import File
from singerlake.lake.log import Selection
from singerlake.lake.runs import Run, history
from singerlake.lake.snapshot import Snapshot

Runs = Literal["all", "last"] | tuple[str, ...]
"""All commits, those of the last complete run, or those of the runs with these ids."""

AsOf = int | datetime | str
"""A sequence number, a commit time, or a run id."""

COMPLETE = ("complete",)


@dataclass(frozen=True)
class Extent:
    """Which commits to read.

    `runs` are `all`, `last` (the newest complete run that was sent the stream), or run ids.
    `as_of` leaves out what was committed later than a sequence number, a time, or a run.
    `outcomes` are those of runs that `last` may take.
    """

    runs: Runs = "all"
    as_of: AsOf | None = None
    outcomes: tuple[str, ...] = COMPLETE

    @property
    def is_everything(self) -> bool:
        return self.runs == "all" and self.as_of is None


def parse_as_of(text: str) -> AsOf:
    """A sequence number, a time, or a run id, as people write it: `run:` says that it is a run."""
    if text.startswith("run:"):
        return text.removeprefix("run:")
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        # Python 3.10 does not know the Z of UTC.
        return times.in_utc(datetime.fromisoformat(text.replace("Z", "+00:00")))
    except (OverflowError, ValueError):
        return text


ALL = Extent()


@dataclass(frozen=True)
class Covered:
    """What an extent is in one snapshot. `run` is the last run, where that was asked for."""

    selection: Selection
    run: Run | None = None


def covered(snapshot: Snapshot, extent: Extent) -> Covered:
    """The commits of an extent.

    Raises `ConfigError` where there is no such run, or where nobody knows which commits are its;
    and `MissingManifest` for a stream that only a listing tells of.
    """
    if extent.is_everything:
        return Covered(Selection())
    if snapshot.by_listing:
        raise MissingManifest(
            f"{_where(snapshot)}: its manifest is missing, and only the manifest knows runs and "
            "commit times; run `singerlake rebuild` first"
        )
    until, moment = _until(snapshot, extent.as_of)
    if extent.runs == "all":
        return Covered(Selection(until=until))
    if extent.runs == "last":
        run = last_run(snapshot, extent.outcomes, until, moment)
        return Covered(Selection(until=until, numbers=numbers_of(snapshot, [run])), run)
    chosen = [run for run_id in extent.runs for run in _named(snapshot, run_id)]
    return Covered(Selection(until=until, numbers=numbers_of(snapshot, chosen)))


def last_run(
    snapshot: Snapshot,
    outcomes: Sequence[str] = COMPLETE,
    until: int | None = None,
    moment: datetime | None = None,
) -> Run:
    """The newest run of these outcomes that was sent the stream, of those that had ended by then.

    Raises `ConfigError` where there is none.
    """
    runs = history.logged(snapshot.store, snapshot.keys.tap_id)
    if not {"open", "lost"}.isdisjoint(outcomes):
        runs = history.with_unended(snapshot.store, snapshot.keys.tap_id)
    named = history.of_stream(runs, snapshot.keys.stream)
    newest = snapshot.manifest.last_sequence if until is None else until
    for run, number in reversed(_with_last_numbers(snapshot, named)):
        # A run may have ended since the snapshot was taken, which then has only some of it.
        had_ended = moment is None or run.ended <= moment or _last_number(snapshot, run) > 0
        if run.outcome in outcomes and number <= newest and had_ended:
            return run
    found = f"the newest is {named[-1].run_id} ({named[-1].outcome})" if named else "there is none"
    raise ConfigError(
        f"{_where(snapshot)}: expected a run that is {' or '.join(outcomes)}, and of the runs that "
        f"were sent the stream {found}; `singerlake runs` lists them. A tap that sends no STATE "
        "needs the target's setting complete_without_state; `singerlake runs mark` corrects an "
        "outcome; or ask for a run by its id"
    )


def _with_last_numbers(snapshot: Snapshot, runs: Iterable[Run]) -> list[tuple[Run, int]]:
    """Each run with its last number; a run that committed none comes after all before it."""
    numbered, reached = [], 0
    for run in runs:
        last = _last_number(snapshot, run)
        reached = max(reached, last)
        numbered.append((run, last or reached))
    return numbered


def _last_number(snapshot: Snapshot, run: Run) -> int:
    """The last number that the run committed in this log; 0 where it committed none."""
    left = run.streams[snapshot.keys.stream]
    return left.last_sequence if left.log_id == snapshot.manifest.log_id else 0


def numbers_of(snapshot: Snapshot, runs: Iterable[Run]) -> tuple[tuple[int, int], ...]:
    """The sequence numbers of these runs, as ranges: their own, not those of writers beside them.

    Raises `ConfigError` where an older vacuum forgot whose some of them are.
    """
    stream = snapshot.keys.stream
    chosen = [run for run in runs if stream in run.streams and run.streams[stream].last_sequence]
    if not chosen:
        return ()
    bounds = _bounds(snapshot, chosen)
    found = _numbers(snapshot, chosen, bounds)
    files = sum(run.streams[stream].files for run in chosen)
    if len(found) < files and bounds != Selection():
        # Files that were adopted after an older manifest was put back have other numbers.
        found = _numbers(snapshot, chosen, Selection())
    ranges: list[tuple[int, int]] = []
    for number in found:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def _numbers(snapshot: Snapshot, runs: Iterable[Run], bounds: Selection) -> list[int]:
    wanted, numbers = {run.identity for run in runs}, []
    for row in snapshot.commits(bounds):
        if row.merge is not None:
            raise _forgotten(snapshot, row, "run")
        if (row.run_id, row.writer_id) in wanted:
            numbers.append(row.sequence)
    return numbers


def _bounds(snapshot: Snapshot, runs: Sequence[Run]) -> Selection:
    """Where in the log the files of these runs are; anywhere, where it was numbered anew."""
    left = [run.streams[snapshot.keys.stream] for run in runs]
    if any(one.log_id != snapshot.manifest.log_id for one in left):
        return Selection()
    first = min(one.first_sequence for one in left)
    return Selection(since=first - 1, until=max(one.last_sequence for one in left))


def _until(snapshot: Snapshot, as_of: AsOf | None) -> tuple[int | None, datetime | None]:
    """The last sequence number that counts, and the moment."""
    if as_of is None:
        return None, None
    if isinstance(as_of, datetime):
        moment = times.in_utc(as_of)
        return committed_until(snapshot, moment), moment
    if isinstance(as_of, str):
        named = _named(snapshot, as_of)
        run = (history.of_stream(named, snapshot.keys.stream) or named)[-1]
        return _end_of(snapshot, run), run.ended
    row = next(snapshot.commits(Selection(since=as_of - 1, until=as_of)), None)
    return as_of, None if row is None else row.committed


def _end_of(snapshot: Snapshot, run: Run) -> int:
    """The last number that the run committed; where it committed none, the last by its end."""
    left = run.streams.get(snapshot.keys.stream)
    if left is not None and left.last_sequence:
        if left.log_id == snapshot.manifest.log_id:
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
                raise _forgotten(snapshot, row, "commit time")
            break
        last = row.sequence
    return last


def _named(snapshot: Snapshot, run_id: str) -> list[Run]:
    """The runs with this id, the newest last. Raises `ConfigError`."""
    tap_id = snapshot.keys.tap_id
    for runs in (history.logged, history.with_unended):
        found = [run for run in runs(snapshot.store, tap_id) if run.run_id == run_id]
        if found:
            return found
    raise ConfigError(
        f"{_where(snapshot)}: the tap has no run {run_id!r}; `singerlake runs` lists its runs"
    )


def _forgotten(snapshot: Snapshot, row: File, what: str) -> ConfigError:
    return ConfigError(
        f"{_where(snapshot)}: the {what} of the sequence numbers {row.lowest_sequence} to "
        f"{row.sequence} is not known any more: an older Singerlake merged their files and kept "
        "none. Choose by sequence numbers"
    )


def _where(snapshot: Snapshot) -> str:
    keys = snapshot.keys
    return f"stream {keys.stream!r} of {keys.tap_id!r} in {snapshot.store.url}"
