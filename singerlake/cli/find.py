"""`singerlake find`: which files hold a stream, at a time, from a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from singerlake.cli.console import complain
from singerlake.cli.failures import Failures
from singerlake.cli.find_output import FORMS, TABLE_ROWS, Form, print_found
from singerlake.cli.find_pages import entries_of
from singerlake.cli.index_option import index_option, opened
from singerlake.cli.options import command, json_option
from singerlake.cli.progress import counted, progress
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.selection import chosen
from singerlake.errors import ConfigError, StaleSnapshot
from singerlake.lake import Lake, Stream
from singerlake.lake.parallel import in_parallel

if TYPE_CHECKING:
    from singerlake.index import Entry, Query, Storage

PATTERN = frozenset("*?[")

ATTEMPTS = 3
"""How often a stream is read that a vacuum and a purge overtake."""


@command()
@root_arguments(optional=("tap", "stream"))
@click.option(
    "--from", "start", metavar="TIME", help="Only files that reach to this time or later."
)
@click.option(
    "--to", "end", metavar="TIME", help="Only files that begin by this time; a day is whole."
)
@click.option("--run", metavar="RUN", help="Only files that this run committed.")
@click.option("--version", metavar="N", help="Only of this schema version: 2, or v2.")
@click.option("--latest", is_flag=True, help="Only the newest file of each stream.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="Addresses, each once (default); a table; or a JSON object on each line.",
)
@json_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"The first so many, and say if there are more; 0 for all, which is the default but for a "
    f"table on a screen ({TABLE_ROWS}).",
)
@index_option
def find(
    root: Root,
    tap: str | None,
    stream: str | None,
    start: str | None,
    end: str | None,
    run: str | None,
    version: str | None,
    latest: bool,
    form: Form | None,
    as_json: bool,
    limit: int | None,
    index: str | None,
) -> None:
    """Find the files of a stream, a time, a run.

    TAP and STREAM are names, or patterns with *, ? and […]. Times are those of extraction, in UTC:
    2026-03-01, 2026-03-01T08:00, or `..` for an open end. A file is found if its time touches the
    interval. Files come in the order of their time.

    A file is meant as it was committed. After a vacuum its address is that of the merged file,
    which holds others too; its time, run and numbers stay as they were.

    Without --index the answer comes from the lake's logs: the same, and slower the more files there
    are. With an index, it is as new as the index (`singerlake index follow`).

    \b
    Examples:
      singerlake find ./lake tap-shop--meltano orders --from 2026-03-03 --to 2026-03-03
      singerlake find ./lake --run 01a1ec8d-898a-7135-a20f-8de0b54a112a --format table
      singerlake find s3://bucket/lake 'tap-*' 'order*' --latest --index sqlite:///lake.db
      singerlake find ./lake --stream orders --json | jq .records
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form}: give only one of them")
    form = "json" if as_json else form or "url"
    lake = root.lake()
    query = _query(tap, stream, start, end, run, version)
    failures = Failures()
    show = partial(print_found, root=lake.store.url, form=form, limit=limit)
    if index is None:
        is_empty = show(_of_lake(lake, query, latest, failures))
    else:
        with closing(opened(index, lake)) as storage:
            is_empty = show(_of_index(storage, query, latest))
    failures.raise_first()
    if is_empty:
        _explain_nothing(lake, query)


def _query(
    tap: str | None,
    stream: str | None,
    start: str | None,
    end: str | None,
    run: str | None,
    version: str | None,
) -> Query:
    from singerlake.index import Query
    from singerlake.index.interval import parse_end

    first, last = parse_end(start or ""), parse_end(end or "", last=True)
    if first is not None and last is not None and first > last:
        raise ConfigError(f"expected --from before --to, found {start} and {end}")
    return Query(
        tap=None if _is_pattern(tap) else tap,
        stream=None if _is_pattern(stream) else stream,
        tap_pattern=tap if _is_pattern(tap) else None,
        stream_pattern=stream if _is_pattern(stream) else None,
        start=first,
        end=last,
        run_id=run,
        version=_number(version),
    )


def _is_pattern(name: str | None) -> bool:
    return name is not None and not PATTERN.isdisjoint(name)


def _number(version: str | None) -> int | None:
    if version is None:
        return None
    digits = version.removeprefix("v")
    if not digits.isascii() or not digits.isdecimal() or not 0 < len(digits) < 10:
        raise click.UsageError(f"--version {version}: expected a number such as 2 or v2")
    return int(digits)


def _of_index(storage: Storage, query: Query, latest: bool) -> Iterator[Entry]:
    from singerlake.index.newest import newest
    from singerlake.index.query import position

    if latest and query == _names_of(query):
        # What an index is quickest at: one look for each stream.
        named = [name for name in storage.streams() if query.covers(*name)]
        found = (storage.latest(*name) for name in named)
        yield from sorted((entry for entry in found if entry is not None), key=position)
    elif latest:
        yield from newest(entries_of(storage, query), storage.names_files)
    else:
        yield from entries_of(storage, query)


def _names_of(query: Query) -> Query:
    """The query without all that is not about names."""
    return type(query)(
        tap=query.tap,
        stream=query.stream,
        tap_pattern=query.tap_pattern,
        stream_pattern=query.stream_pattern,
    )


def _of_lake(lake: Lake, query: Query, latest: bool, failures: Failures) -> Iterable[Entry]:
    """The answer by reading the log of every stream that the query covers."""
    from singerlake.index.newest import newest
    from singerlake.index.query import matches, position
    from singerlake.index.scan import covered, entries_in

    lake_id = lake.lake_id()

    def found_in(stream: Stream, attempts: int = ATTEMPTS) -> list[Entry]:
        try:
            entries = _Watched(entries_in(stream, lake_id))
            found = filter(partial(matches, query), entries)
            return newest(found, lambda *_: entries.names_files) if latest else list(found)
        except StaleSnapshot:  # a vacuum and a purge have overtaken this
            if attempts == 1:
                raise
            return found_in(stream, attempts - 1)

    def found_or_failed(stream: Stream) -> list[Entry]:
        with failures.collected(stream.tap_id, stream.name):
            return found_in(stream)
        return []

    def unread(tap: str, stream: str, error: Exception) -> None:
        with failures.collected(tap, stream or None):
            raise error

    with progress("reading logs") as bar:
        streams = list(covered(lake, query, unread))
        answers = counted(in_parallel(found_or_failed, streams), len(streams), bar)
        return sorted(chain.from_iterable(answers), key=position)


class _Watched:
    """The entries of a stream, and whether its records named files so far."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries, self.names_files = entries, False

    def __iter__(self) -> Iterator[Entry]:
        for entry in self._entries:
            self.names_files = self.names_files or entry.ordinal > 0
            yield entry


def _explain_nothing(lake: Lake, query: Query) -> None:
    """Raises `UnknownTap` or `UnknownStream` for a name that nothing has."""
    if query.tap is not None or query.stream is not None:
        chosen(lake, query.tap, query.stream)
    complain("no file matches", "Note")
