"""`singerlake sql`: a lake in SQL, without Spark."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from singerlake.cli.console import complain, is_terminal, plural, print_json, print_table, table
from singerlake.cli.extra import extra_module
from singerlake.cli.name import shown
from singerlake.cli.options import as_of_option, command, json_option
from singerlake.cli.place import VARIABLE
from singerlake.cli.root import reach_options
from singerlake.cli.storage_options import options_of, options_of_output
from singerlake.format.run import OUTCOMES
from singerlake.lake.extent import COMPLETE, AsOf
from singerlake.lake.replication import METHODS

PACKAGES = frozenset({"duckdb", "fastavro", "numpy", "pyarrow"})
TABLE_ROWS = 100
"""Rows of a table on a screen, unless --limit asks for more."""

_QUERY = re.compile(
    r"\s*(\(|--|/\*|(select|with|from|describe|desc|show|summarize|explain|values|table|pivot"
    r"|unpivot|pragma|call)[\s(])",
    re.IGNORECASE,
)


@command()
@click.argument("words", nargs=-1, metavar="[ROOT] [QUERY]")
@click.option(
    "--published",
    metavar="OUT",
    envvar="SINGERLAKE_PUBLISHED",
    help="What `singerlake project` published: its tables are views too. "
    "Also from $SINGERLAKE_PUBLISHED.",
)
@click.option(
    "--mode",
    type=click.Choice(["append", "current", "last_run"]),
    default="append",
    show_default=True,
    help="Every record, the latest of each key that is not deleted, or the last complete run.",
)
@click.option(
    "--replication-method",
    type=click.Choice(METHODS),
    help="How the tap sends the streams, for --mode current: by default as the lake knows it.",
)
@click.option(
    "--run-outcome",
    "run_outcomes",
    type=click.Choice(OUTCOMES),
    multiple=True,
    help="Take runs that ended so, in place of complete ones (repeatable).",
)
@as_of_option
@click.option(
    "--numbers",
    type=click.Choice(["double", "decimal", "string"]),
    default="double",
    show_default=True,
    help="What a number without a declared precision becomes.",
)
@click.option(
    "--max-misfits",
    type=click.IntRange(min=0),
    metavar="N",
    help="Fail where more than N values do not fit their type: they are null otherwise.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"At most so many rows, 0 for all. A screen shows {TABLE_ROWS} unless told.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "jsonl", "csv"]),
    default="table",
    show_default=True,
    help="How to print the rows.",
)
@click.option(
    "--out-storage-options",
    envvar="SINGERLAKE_OUT_STORAGE_OPTIONS",
    metavar="JSON|@FILE",
    help="fsspec storage options of OUT; those of ROOT by default, where both are of one kind.",
)
@reach_options
@json_option
def sql(
    words: tuple[str, ...],
    published: str | None,
    mode: str,
    replication_method: str | None,
    run_outcomes: tuple[str, ...],
    as_of: AsOf | None,
    numbers: str,
    max_misfits: int | None,
    limit: int | None,
    form: str,
    out_storage_options: str | None,
    storage_options: str | None,
    pairs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Query a lake in SQL.

    Needs the extra `duckdb`. A stream is a view, "TAP"."STREAM", and plain STREAM where one tap
    alone has it; a published table is published."TAP"."STREAM". Without QUERY, lists the views; a
    QUERY of - is read from stdin. Columns about the record, such as _sequence, _time_extracted or
    _misfits, are there when QUERY names them. A value that does not fit its type is null: how many
    are is reported on stderr, and in JSON.

    \b
    Examples:
      singerlake sql ./lake
      singerlake sql ./lake 'select status, count(*) from orders group by all'
      singerlake sql ./lake 'describe "tap-github--meltano".issues'
      singerlake sql ./lake 'from orders' --mode current --format csv > orders.csv
      singerlake sql ./lake 'select count(*) from published.orders' --published ./tables
    """
    root, query = _placed(words)
    options = options_of(storage_options, pairs)
    request = extra_module("sql.request", "duckdb", PACKAGES).SqlRequest(
        root,
        published=published,
        mode=mode,
        as_of=as_of,
        replication_method=replication_method,
        run_outcomes=run_outcomes or COMPLETE,
        numbers=numbers,
        metadata=_metadata(query or ""),
        max_misfits=max_misfits,
        storage_options=options,
        published_options=options_of_output(root, options, published or "", out_storage_options),
    )
    if query is None:
        _print_views(request, as_json or form == "json")
        return
    form = "json" if as_json else form
    with extra_module("sql.answer", "duckdb", PACKAGES).answered(request, query) as answer:
        _print_rows(answer, form, limit)


def _placed(words: tuple[str, ...]) -> tuple[str, str | None]:
    """The root and the query. A single word is the query where it looks like one."""
    if len(words) > 2:
        raise click.UsageError(
            f"Got unexpected extra argument ({words[2]}): QUERY is one word, so put it in quotes"
        )
    *before, last = words or ("",)
    is_query = bool(before) or last == "-" or _is_query(last)
    root = before[0] if before else os.environ.get(VARIABLE, "") if is_query or not last else last
    if not root:
        raise click.UsageError(
            f"Missing argument ROOT. ROOT is the lake's folder or URL; ${VARIABLE} can hold it."
        )
    if not is_query:
        return root, None
    return root, sys.stdin.read() if last == "-" else last


def _is_query(word: str) -> bool:
    """No folder has a name like a query, or else it is the folder that is meant."""
    spaced = bool(re.search(r"\S\s+\S", word)) and "://" not in word
    return bool(_QUERY.match(word)) or (spaced and not Path(word).exists())


def _metadata(query: str) -> tuple[str, ...]:
    """The metadata columns that a query names: `select *` gives the record's columns alone."""
    known: tuple[str, ...] = extra_module("decode.request", "duckdb", PACKAGES).METADATA
    named = set(re.findall(r"\b_[a-z_]+\b", query.lower()))
    return tuple(name for name in known if name in named)


def _print_rows(answer: Any, form: str, limit: int | None) -> None:
    if limit is None and form == "table" and is_terminal():
        limit = TABLE_ROWS
    output = extra_module("cli.sql_output", "duckdb", PACKAGES)
    has_more = output.print_answer(answer, form, limit or None)
    sys.stdout.flush()
    if has_more and form == "table":
        complain(f"{limit} rows are shown: --limit 0 shows all", "More rows")
    for misfit in answer.misfits() if form != "json" else ():
        complain(
            f"{misfit.stream}.{misfit.column} of {misfit.tap_id}: "
            f"{plural(misfit.count, 'null')} in the place of what does not fit the column's type, "
            f"such as {misfit.example}",
            "Misfits",
        )


def _print_views(request: Any, as_json: bool) -> None:
    views = extra_module("sql.session", "duckdb", PACKAGES).known_views(request)
    if as_json:
        print_json(
            {
                "views": [
                    {
                        "view": view.sql,
                        "published": view.catalog == "published",
                        "tap_id": view.tap_id,
                        "stream": view.stream,
                    }
                    for view in views
                ]
            }
        )
        return
    made = table("view", "tap", "stream")
    for view in views:
        made.add_row(shown(view.sql), shown(view.tap_id), shown(view.stream))
    print_table(made)
