"""An index in an SQL database: its questions. Dialects differ in how they connect and lock."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any

from singerlake.errors import ConfigError
from singerlake.index.entry import Entry, Upload
from singerlake.index.newest import age
from singerlake.index.page import PAGE
from singerlake.index.query import Position, Query, stream_key
from singerlake.index.storage import scan
from singerlake.index.storage.base import Change, EndedRun, Lack, Storage
from singerlake.index.storage.connection import Connection
from singerlake.index.storage.relational_change import RelationalChange, put_uploads
from singerlake.index.storage.row import Reader, id_key, row_position
from singerlake.index.storage.safe_text import from_safe, to_safe
from singerlake.index.storage.scan import Scan
from singerlake.index.storage.statement import statements
from singerlake.index.summary import DAY, By, Tally, added, day_key
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor

_READ, _WRITE = statements("read.sql"), statements("write.sql")

_SELECT = f"SELECT {_READ['columns']} FROM {_READ['joined'].format(index='')} AND "
_NAMED = "entries_named"
_SUMS = "count(*), coalesce(sum(e.records), 0), sum(e.size), min(e.starts), max(e.ends)"
_FLOORED = f"(e.starts - ((e.starts % {DAY}) + {DAY}) % {DAY}) / {DAY}"
_GROUPS = {"day": _FLOORED, "run": "s.tap, coalesce(r.run_id, '')", "stream": "s.tap, s.stream"}


class RelationalStorage(Storage):
    """The questions. A dialect says how a statement is run and how a transaction begins."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Connection]:
        """A connection, with one state of the database for all that is asked in it."""

    @abstractmethod
    def write(self) -> AbstractContextManager[Connection]:
        """A transaction, which an exception takes back."""

    @property
    def lake_id(self) -> str | None:
        with self.read() as connection:
            return _lake_id(connection)

    def bind(self, lake_id: str, root: str = "") -> None:
        with self.write() as connection:
            known = _lake_id(connection)
            if known is None:
                connection.run(_WRITE["put_fact"], {"name": "lake_id", "value": to_safe(lake_id)})
            elif known != lake_id:
                raise ConfigError(
                    f"the index {self.url} is of the lake {known}, and this lake is {lake_id}; "
                    "name another index with --index, or make this one again from this lake by "
                    "`singerlake index rebuild`"
                )

    # Questions

    def page(self, query: Query, after: Position | None = None, limit: int = PAGE) -> list[Entry]:
        rows: list[Sequence[Any]] = []
        with self.read() as connection:
            for scans in _plan(connection, query):
                rest = limit - len(rows)
                if rest <= 0:
                    break
                answers = [_page(connection, one.behind(after), rest) for one in scans]
                rows += islice(merge(*answers, key=row_position), rest)
            return _entries(connection, rows)

    def count(self, query: Query) -> int:
        with self.read() as connection:
            scans = [one for some in _plan(connection, query) for one in some]
            return sum(
                connection.rows(_scanning(connection, "count(*)", one), one.values)[0][0]
                for one in scans
            )

    def latest(self, tap: str, stream: str, since: int | None = None) -> Entry | None:
        low = scan.EARLIEST if since is None else max(scan.EARLIEST, min(since, scan.LATEST))
        with self.read() as connection:
            named = _names_files(connection, stream_key(tap, stream))
            found = [
                entry
                for uploads in (False, True)
                for entry in _entries(
                    connection,
                    connection.rows(
                        _latest(connection, named and not uploads),
                        {"scope": stream_key(tap, stream, uploads), "low": low},
                    ),
                )
            ]
        return max(found, key=age, default=None)

    def names_files(self, tap: str, stream: str) -> bool:
        with self.read() as connection:
            return _names_files(connection, stream_key(tap, stream))

    def by_id(self, id: str) -> Entry | None:
        with self.read() as connection:
            rows = connection.rows(_SELECT + _READ["by_id"], {"scope": id_key(id)})
            found = _entries(connection, rows)
        return next((entry for entry in found if entry.id == id), None)

    def summary(self, query: Query, by: By) -> list[Tally]:
        group = _GROUPS[by]
        columns = f"{_SUMS}, {group}"
        with self.read() as connection:
            scans = [one for some in _plan(connection, query) for one in some]
            rows = [
                row
                for one in scans
                for row in connection.rows(
                    f"{_scanning(connection, columns, one)} GROUP BY {group}", one.values
                )
            ]
        return added(_tally(row, by) for row in rows)

    def streams(self) -> list[tuple[str, str]]:
        with self.read() as connection:
            found = _streams(connection)
        return sorted((tap, stream) for tap, stream, uploads in found if not uploads)

    # Everything

    def entries(self, tap: str, stream: str) -> Iterator[Entry]:
        with self.read() as connection:
            reader = Reader(_lake_id(connection) or "")
            values = {"scope": stream_key(tap, stream)}
            for row in connection.stream(_SELECT + _READ["in_log"], values):
                yield reader.entry(row, {})

    def uploads(self) -> Iterator[Entry]:
        with self.read() as connection:
            ids = [from_safe(row[0]) for row in connection.rows(_READ["all_uploads"], {})]
        for id in sorted(ids):
            entry = self.by_id(id)
            if entry is not None:
                yield entry

    def lacks(self, tap: str, stream: str) -> list[Lack]:
        with self.read() as connection:
            rows = connection.rows(_READ["lacks"], {"stream": stream_key(tap, stream)})
        return [
            Lack(tap, stream, first, last, from_safe(reason), time)
            for first, last, reason, time in rows
        ]

    def runs(self) -> Iterator[EndedRun]:
        with self.read() as connection:
            rows = connection.rows(_READ["ended_runs"], {})
        runs = [
            EndedRun(
                from_safe(tap),
                from_safe(run_id),
                from_safe(writer_id),
                outcome,
                begun,
                ended,
                tuple(json.loads(streams)),
            )
            for tap, run_id, writer_id, outcome, begun, ended, streams in rows
        ]
        return iter(sorted(runs, key=lambda run: (run.tap, run.run_id, run.writer_id)))

    # Changes

    def cursor(self) -> Cursor:
        with self.read() as connection:
            rows = connection.rows(_READ["streams"], {})
            taps = connection.rows(_READ["taps"], {})
        return Cursor(
            {
                (from_safe(tap), from_safe(stream)): Bookmark.parse(json.loads(bookmark))
                for _, tap, stream, _, _, bookmark in rows
                if bookmark is not None
            },
            {
                from_safe(tap): Bookmark.parse(json.loads(bookmark))
                for tap, bookmark in taps
                if bookmark is not None
            },
        )

    @contextmanager
    def change(self, tap: str, stream: str = "") -> Iterator[Change]:
        with self.write() as connection:
            yield RelationalChange(connection, tap, stream)

    def drop(self, tap: str, stream: str) -> None:
        with self.write() as connection:
            RelationalChange(connection, tap, stream).clear()
            connection.run(_WRITE["drop_stream"], {"key": stream_key(tap, stream)})

    def put_uploads(self, entries: Sequence[Entry]) -> None:
        with self.write() as connection:
            put_uploads(connection, entries)

    def forget(self) -> None:
        with self.write() as connection:
            for part in ("entries", "streams", "holders", "gaps", "versions", "taps", "runs", "id"):
                connection.run(_WRITE[f"forget_{part}"], {})


def _lake_id(connection: Connection) -> str | None:
    rows = connection.rows(_READ["fact"], {"name": "lake_id"})
    return from_safe(rows[0][0]) if rows else None


def _streams(connection: Connection) -> list[tuple[str, str, bool]]:
    rows = connection.rows(_READ["streams"], {})
    return [(from_safe(row[1]), from_safe(row[2]), bool(row[3])) for row in rows]


def _plan(connection: Connection, query: Query) -> list[list[Scan]]:
    runs = None
    if query.run_id is not None:
        rows = connection.rows(_READ["runs_of"], {"run_id": to_safe(query.run_id)})
        rows = rows if query.run_id else []  # files of no known run are in no answer
        runs = [number for number, tap in rows if query.tap in (None, from_safe(tap))]
    by_name = query.stream is not None and query.stream_pattern is None
    streams: scan.Streams = partial(_streams, connection)
    if query.tap is not None and by_name and query.tap_pattern is None:
        both = [(query.tap, str(query.stream), uploads) for uploads in (False, True)]
        streams = partial(list, both)
    lengths = [row[0] for row in connection.rows(_READ["lengths"], {})]
    return scan.plan(query, lengths, streams, runs)


def _scanning(connection: Connection, columns: str, one: Scan) -> str:
    """The statement of a scan."""
    table = _READ["joined"].format(index=connection.using(one.index))
    return f"SELECT {columns} FROM {table} AND {one.where}"


def _names_files(connection: Connection, key: int) -> bool:
    sql = _READ["names_files"].format(index=connection.using(_NAMED))
    return bool(connection.rows(sql, {"scope": key}))


def _latest(connection: Connection, named: bool) -> str:
    """The statement of the newest, of all entries of a stream or of the files that it names."""
    if not named:
        return _SELECT + _READ["latest"]
    # SQLite has to be told: it takes the index of all entries, and would pass every Singer file.
    where = _READ["latest_named"].format(index=connection.using(_NAMED))
    return _SELECT + where


def _page(connection: Connection, one: Scan, limit: int) -> list[Sequence[Any]]:
    sql = f"{_scanning(connection, _READ['columns'], one)} {_READ['ordered']}"
    return connection.rows(sql, {**one.values, "limit": limit})


def _entries(connection: Connection, rows: Sequence[Sequence[Any]]) -> list[Entry]:
    reader = Reader(_lake_id(connection) or "")
    uploads = {row[-2]: _upload(connection, row[-2]) for row in rows if row[3]}
    return [reader.entry(row, uploads) for row in rows]


def _upload(connection: Connection, number: int) -> tuple[str, Upload]:
    _, id, url, metadata = connection.rows(_READ["uploads_of"], {"number": number})[0]
    return from_safe(id), Upload(url=from_safe(url), metadata=json.loads(metadata))


def _tally(row: Sequence[Any], by: By) -> Tally:
    files, records, size, start, end, *key = row
    texts = (day_key(int(key[0])),) if by == "day" else tuple(map(from_safe, key))
    return Tally(
        key=texts, files=files, records=int(records), bytes=int(size), start=start, end=end
    )
