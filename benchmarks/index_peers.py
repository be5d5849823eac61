"""Other ways to keep the entries: a row for each day that a file touches, and a table in DuckDB."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import duckdb
import msgspec

from benchmarks.index_entries import DAY
from singerlake.index.entry import Entry
from singerlake.index.query import Query

LIMIT = 100


class DayRows:
    """The design of the datalake: a record under each day, and an index by run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(
            "CREATE TABLE records (day_what TEXT, where_id TEXT, run_what TEXT, record TEXT, "
            "PRIMARY KEY (day_what, where_id)) WITHOUT ROWID"
        )
        self._database.execute("CREATE INDEX by_run ON records (run_what, where_id)")

    def add(self, entries: Iterable[Entry]) -> None:
        rows = []
        for entry in entries:
            record = json.dumps(msgspec.to_builtins(entry))
            for day in range(entry.start // DAY, entry.end // DAY + 1):
                rows.append(
                    (
                        f"{day}:{entry.stream}",
                        f"{entry.tap}:{entry.id}",
                        f"{entry.run_id}:{entry.stream}",
                        record,
                    )
                )
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)
        self._database.execute("COMMIT")

    def ask(self, query: Query) -> list[str]:
        begin, end = (query.tap or "") + ":", (query.tap or "") + ";"
        where = "AND where_id >= ? AND where_id < ?" if query.tap else ""
        bounds = (begin, end) if query.tap else ()
        if query.run_id is not None:
            sql = f"SELECT record FROM records WHERE run_what = ? {where} LIMIT {LIMIT}"
            key = f"{query.run_id}:{query.stream}"
            return [row[0] for row in self._database.execute(sql, (key, *bounds))]
        found: list[str] = []
        for day in range((query.start or 0) // DAY, (query.end or 0) // DAY + 1):
            sql = f"SELECT record FROM records WHERE day_what = ? {where}"
            for (record,) in self._database.execute(sql, (f"{day}:{query.stream}", *bounds)):
                body = json.loads(record)
                if body["start"] <= (query.end or 0) and body["end"] >= (query.start or 0):
                    found.append(record)
                if len(found) == LIMIT:
                    return found
        return found

    def close(self) -> None:
        self._database.close()


class Columns:
    """A table in DuckDB, sorted by stream and time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = duckdb.connect(str(path))

    def load(self, parquet: Path) -> None:
        self._database.execute(
            f"CREATE TABLE entries AS SELECT * FROM '{parquet}' ORDER BY stream, tap, start"
        )

    def ask(self, query: Query) -> list[tuple[object, ...]]:
        terms, values = ["stream = ?"], [query.stream]
        if query.tap is not None:
            terms.append("tap = ?")
            values.append(query.tap)
        if query.run_id is not None:
            terms.append("run_id = ?")
            values.append(query.run_id)
        else:
            terms.append('epoch_us(start) <= ? AND epoch_us("end") >= ?')
            values += [query.end, query.start]  # type: ignore[list-item]
        sql = f'SELECT * FROM entries WHERE {" AND ".join(terms)} ORDER BY start, "end" LIMIT 100'
        return self._database.execute(sql, values).fetchall()

    def close(self) -> None:
        self._database.close()
