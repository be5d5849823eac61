"""The number of rows of a stream, without Spark and, as far as the log tells it, without a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from singerlake.decode.count import counts
from singerlake.decode.stream import selected, take
from singerlake.spark.read import parsed, texts_of
from singerlake.store import open_store


def count(
    root: str | Path,
    tap: str,
    stream: str,
    *,
    since: int | None = None,
    until: int | None = None,
    start: datetime | str | None = None,
    end: datetime | str | None = None,
    schema_versions: Literal["all", "latest"] | Sequence[str] = "all",
    runs: Literal["all", "last"] | Sequence[str] = "all",
    run_id: str | None = None,
    run_outcomes: Sequence[str] | None = None,
    as_of: int | datetime | str | None = None,
    sequences: Sequence[tuple[int, int]] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> int:
    """How many rows `read_stream` gives with the same options.

    The number comes from the stream's log. A file is read only where the log cannot tell: one that
    `start` or `end` cuts, or one that an older Singerlake has merged and that the other options
    cut, and every file where the manifest is missing. What is not read is not compared with its
    checksum: `singerlake check` does that.
    """
    given = texts_of(
        tap=tap,
        stream=stream,
        since=since,
        until=until,
        start=start,
        end=end,
        schema_versions=schema_versions,
        runs=runs,
        run_id=run_id,
        run_outcomes=run_outcomes,
        as_of=as_of,
        sequences=sequences,
    )
    options = parsed(root, given)
    state = take(open_store(options.root, storage_options or {}), options.request)
    asked = options.request_within(options.covered(state))
    return sum(counts(state, selected(state, asked)))
