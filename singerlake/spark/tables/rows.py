"""The rows of a table: events of the feed and runs, as dictionaries by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from singerlake.format.keys import StreamKeys
from singerlake.lake.feed.event import Committed, Event
from singerlake.lake.runs import Run

Row = dict[str, Any]


def commits(events: Iterable[Event]) -> Iterator[Row]:
    """One row for each commit, also where several events report it."""
    parts: list[Committed] = []
    for event in events:
        if isinstance(event, Committed):
            parts.append(event)
            if not event.continues:
                yield _commit(parts)
                parts = []
    if parts:
        yield _commit(parts)


def _commit(parts: list[Committed]) -> Row:
    begin, end = parts[0], parts[-1]
    files = [file for part in parts for file in part.files]
    versions = {number for part in parts for number in part.versions.values()}
    return {
        **_names(end),
        "first_sequence": begin.first_sequence,
        "last_sequence": end.last_sequence,
        "schema_versions": sorted(versions),
        "files": len(files) if end.bytes is not None else None,
        "first": min(file.first for file in files),
        "last": max(file.last for file in files),
        "records": _sum(part.records for part in parts),
        "bytes": _sum(part.bytes for part in parts),
    }


def files(events: Iterable[Event]) -> Iterator[Row]:
    """One row for each file as it was committed."""
    for event in events:
        if not isinstance(event, Committed):
            continue
        keys, known = StreamKeys(event.tap, event.stream), event.bytes is not None
        for file in event.files:
            yield {
                **_names(event),
                "first_sequence": file.lowest_sequence,
                "last_sequence": file.sequence,
                "schema_hash": file.schema_hash,
                "schema_version": event.versions.get(file.schema_hash),
                "first": file.first,
                "last": file.last,
                "records": file.records if known and file.records >= 0 else None,
                "bytes": file.bytes if known else None,
                "checksum": file.checksum,
                "file": keys.under(file.path),
            }


def runs(found: Iterable[Run]) -> Iterator[Row]:
    """One row for each run."""
    for run in found:
        yield {
            "tap": run.tap_id,
            "run_id": run.run_id,
            "writer_id": run.writer_id,
            "number": run.number,
            "begun": run.begun,
            "ended": run.ended,
            "outcome": run.outcome,
            "corrected": run.mark is not None,
            "reason": run.reason or None,
            "exit_code": run.exit_code,
            "files": sum(left.files for left in run.streams.values()),
            "records": run.records,
            "bytes": run.bytes,
            "streams": [
                {
                    "stream": name,
                    "log_id": left.log_id,
                    "first_sequence": left.first_sequence,
                    "last_sequence": left.last_sequence,
                    "files": left.files,
                    "records": left.records,
                    "bytes": left.bytes,
                }
                for name, left in sorted(run.streams.items())
            ],
        }


OF_EVENTS: dict[str, Callable[[Iterable[Event]], Iterator[Row]]] = {
    "commits": commits,
    "files": files,
}
"""The tables that are made of a stream's events."""


def _names(event: Committed) -> Row:
    return {
        "tap": event.tap,
        "stream": event.stream,
        "log_id": event.log_id,
        "committed": event.time,
        "writer_id": event.writer_id or None,
        "run_id": event.run_id or None,
    }


def _sum(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total
