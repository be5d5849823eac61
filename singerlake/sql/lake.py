"""A lake as a DuckDB connection, or as the answer to one query."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from singerlake.sql.answer import answered
from singerlake.sql.misfit import Misfit
from singerlake.sql.request import sql_request
from singerlake.sql.session import open_session


@dataclass(frozen=True)
class Result:
    """The rows of a query, and how many values are null in them because they did not fit."""

    table: pa.Table
    misfits: tuple[Misfit, ...]


def connect(
    root: str | Path, *, tap: str | None = None, **options: Any
) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with a view for each stream of the lake at `root`, or of one tap of it.

    The options, all with a default:

    - `published`: the output of `singerlake project`, whose tables are views of the catalog
      `published` then; `published_options` are its storage options.
    - `mode`: `append` for every record, `current` for the rows that the source has now, `last_run`
      for the records of each stream's newest complete run.
    - `replication_method`: `full_table` or `incremental`, for `current`, where the lake does not
      know it; `run_outcomes`: of runs that count in place of complete ones.
    - `as_of`: leaves out what was committed later than a time, a pin or a run; a sequence number
      counts in each stream by itself.
    - `numbers`: `double`, `decimal` or `string`, for a number without a declared precision.
    - `metadata`: the columns about a record that each view has: True for all but `_record` and
      `_corrupt_record`, or their names.
    - `max_misfits`: how many values that do not fit a scan may find before it fails; None for any
      number. A warning of the logger `singerlake.sql` counts them after each scan.
    - `storage_options`: fsspec's, for the lake.

    A view is the stream as it was when the connection was made. Raises `ConfigError`.
    """
    session = open_session(sql_request(root, **options), logs_misfits=True)
    session.add(view for view in session.views if tap in (None, view.tap_id))
    return session.connection


def query(root: str | Path, text: str, **options: Any) -> Result:
    """The answer to one query that reads the views alone; `options` are those of `connect`.

    Raises `BadQuery`.
    """
    with answered(sql_request(root, **options), text) as answer:
        table = answer.table()
        return Result(table, tuple(answer.misfits()))
