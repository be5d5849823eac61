"""Which sequence numbers of a stream's log are a run's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from singerlake.errors import ConfigError
from singerlake.format.manifest import File
from singerlake.lake.log import Selection
from singerlake.lake.runs import Run
from singerlake.lake.snapshot import Snapshot


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
            raise forgotten(snapshot, row, "run")
        if (row.run_id, row.writer_id) in wanted:
            numbers.append(row.sequence)
    return numbers


def _bounds(snapshot: Snapshot, runs: Sequence[Run]) -> Selection:
    """Where in the log the files of these runs are; anywhere, where it was numbered anew."""
    left = [run.streams[snapshot.keys.stream] for run in runs]
    if not all(snapshot.knows(one.log_id, one.last_sequence) for one in left):
        return Selection()
    first = min(one.first_sequence for one in left)
    return Selection(since=first - 1, until=max(one.last_sequence for one in left))


def with_last_numbers(
    snapshot: Snapshot, runs: Iterable[Run], by_rows: bool
) -> list[tuple[Run, int, bool]]:
    """Each run with its last number, and whether that is one of its own: a run that committed none
    comes after all before it.

    With `by_rows`, the log is read for runs whose numbers it does not know: it was numbered anew
    since, or an older manifest was put back and their files were adopted.
    """
    runs = list(runs)
    last = {run.identity: last_number(snapshot, run) for run in runs}
    unknown = {run.identity for run in runs if _committed(snapshot, run) and not last[run.identity]}
    for row in snapshot.commits() if by_rows and unknown else ():
        if row.merge is None and (row.run_id, row.writer_id) in unknown:
            last[row.run_id, row.writer_id] = row.sequence
    numbered, reached = [], 0
    for run in runs:
        own = last[run.identity]
        reached = max(reached, own)
        numbered.append((run, own or reached, own > 0))
    return numbered


def _committed(snapshot: Snapshot, run: Run) -> bool:
    return run.streams[snapshot.keys.stream].last_sequence > 0


def last_number(snapshot: Snapshot, run: Run) -> int:
    """The last number that the run committed in this log; 0 where it committed none."""
    left = run.streams[snapshot.keys.stream]
    return left.last_sequence if snapshot.knows(left.log_id, left.last_sequence) else 0


def forgotten(snapshot: Snapshot, row: File, what: str) -> ConfigError:
    """The error where nobody knows whose a row is, or when it was committed."""
    return ConfigError(
        f"{where(snapshot)}: the {what} of the sequence numbers {row.lowest_sequence} to "
        f"{row.sequence} is not known any more: an older Singerlake merged their files and kept "
        "none. Choose by sequence numbers"
    )


def where(snapshot: Snapshot) -> str:
    """The stream as errors name it."""
    keys = snapshot.keys
    return f"stream {keys.stream!r} of {keys.tap_id!r} in {snapshot.store.url}"
