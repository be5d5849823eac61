"""A change of an index in an SQL database: one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from singerlake.errors import ConfigError
from singerlake.index.entry import Entry
from singerlake.index.query import stream_key
from singerlake.index.storage import origins
from singerlake.index.storage.base import Change, EndedRun, Holder, Lack
from singerlake.index.storage.connection import Connection
from singerlake.index.storage.row import length_of, lies_as_named, values_of
from singerlake.index.storage.safe_text import from_safe, to_safe
from singerlake.index.storage.statement import statements
from singerlake.lake.feed.bookmark import Bookmark

_SQL = statements("write.sql")


class RelationalChange(Change):
    """Within a transaction that is open."""

    def __init__(self, connection: Connection, tap: str, stream: str) -> None:
        self._connection, self._tap, self._stream = connection, tap, stream
        self._key = stream_key(tap, stream)
        self._runs: dict[tuple[str, str], int] = {}
        self._versions: dict[str, tuple[int, int | None]] | None = None
        self._origins = ""
        self._lengths: set[int] = set()
        found = self._locked() if stream else self._locked_tap()
        self.bookmark = None if found is None else Bookmark.parse(json.loads(found))

    def _locked(self) -> str | None:
        add_stream(self._connection, self._tap, self._stream)
        ((_, _, bookmark, self._origins),) = self._connection.lock(
            _SQL["lock_stream"], {"key": self._key}
        )
        return None if bookmark is None else str(bookmark)

    def _locked_tap(self) -> str | None:
        tap = {"tap": to_safe(self._tap)}
        self._connection.run(_SQL["add_tap"], tap)
        ((bookmark,),) = self._connection.lock(_SQL["lock_tap"], tap)
        return None if bookmark is None else str(bookmark)

    def clear(self) -> None:
        if not self._stream:
            self._connection.run(_SQL["clear_runs"], {"tap": to_safe(self._tap)})
            return
        for part in ("entries", "holders", "gaps", "versions"):
            self._connection.run(_SQL[f"clear_{part}"], {"key": self._key})
        self._versions, self._origins = None, ""

    def add(self, entries: Sequence[Entry]) -> None:
        rows = [values_of(entry, self._run(entry), self._version(entry)) for entry in entries]
        add_lengths(self._connection, {row["length"] for row in rows} - self._lengths)
        self._lengths |= {row["length"] for row in rows}
        self._connection.run_many(_SQL["add_entry"], rows)
        for entry in entries:
            self._origins = origins.grown(self._origins, entry.log_id, entry.lowest_sequence)
        moved = [entry for entry in entries if entry.ordinal == 0 and not lies_as_named(entry)]
        for (path, merged), some in groupby(moved, key=lambda entry: (entry.path, entry.merged)):
            self._add_holders(_stretches(list(some), path, merged))

    def _run(self, entry: Entry) -> int | None:
        if entry.run_id is None and entry.writer_id is None:
            return None
        known = (entry.run_id or "", entry.writer_id or "")
        if known not in self._runs:
            self._runs[known] = run_number(self._connection, self._tap, *known)
        return self._runs[known]

    def _version(self, entry: Entry) -> int:
        """The number of a schema version in this stream: small, so that it takes a byte."""
        if self._versions is None:
            rows = self._connection.rows(_SQL["versions"], {"key": self._key})
            self._versions = {row[1]: (row[0], row[2]) for row in rows}
        number, version = self._versions.get(entry.schema_hash, (len(self._versions) + 1, -1))
        if version != entry.version:
            self._versions[entry.schema_hash] = (number, entry.version)
            values = {"number": number, "schema_hash": entry.schema_hash, "version": entry.version}
            self._connection.run(_SQL["put_version"], {"stream": self._key, **values})
        return number

    def hold(self, first: int, last: int, holders: Sequence[Holder]) -> None:
        self._cut("holders", first, last)
        self._add_holders(holders)

    def _cut(self, table: str, first: int, last: int) -> None:
        """Make room for the newest word about a range of numbers."""
        values = {"stream": self._key, "first": first, "last": last}
        for step in ("split", "drop", "trim"):
            self._connection.run(_SQL[f"{step}_{table}"], values)

    def _add_holders(self, holders: Sequence[Holder]) -> None:
        self._connection.run_many(
            _SQL["add_holder"],
            [
                {
                    "stream": self._key,
                    "first": one.first_sequence,
                    "last": one.last_sequence,
                    "path": to_safe(one.path),
                    "merged": int(one.merged),
                }
                for one in holders
            ],
        )

    def lose(self, lack: Lack) -> None:
        first, last = lack.first_sequence, lack.last_sequence
        self._cut("gaps", first, last)
        self._cut("holders", first, last)
        values: dict[str, Any] = {"stream": self._key, "first": first, "last": last}
        if self.bookmark is None or first <= self.bookmark.sequence:
            self._connection.run(_SQL["lose_entries"], values)
        words = {"reason": to_safe(lack.reason), "recorded": lack.time}
        self._connection.run(_SQL["add_gap"], {**values, **words})

    def end_run(self, run: EndedRun) -> None:
        names = {
            "tap": to_safe(run.tap),
            "run_id": to_safe(run.run_id),
            "writer_id": to_safe(run.writer_id),
        }
        self._connection.run(_SQL["add_run"], names)
        ended = {
            "outcome": run.outcome,
            "begun": run.begun,
            "ended": run.ended,
            "streams": json.dumps(run.streams),
        }
        self._connection.run(_SQL["end_run"], {**names, **ended})

    def keep(self, bookmark: Bookmark) -> None:
        text = json.dumps(bookmark.to_json())
        if self._stream:
            values = {"key": self._key, "bookmark": text, "log_id": self._origins}
            self._connection.run(_SQL["keep_stream"], values)
        else:
            values = {"tap": to_safe(self._tap), "bookmark": text}
            self._connection.run(_SQL["keep_tap"], values)


def _stretches(entries: list[Entry], path: str, merged: bool) -> list[Holder]:
    """One holder for numbers that follow each other."""
    holders: list[Holder] = []
    for entry in entries:
        if holders and holders[-1].last_sequence + 1 == entry.lowest_sequence:
            first = holders.pop().first_sequence
            holders.append(Holder(first, entry.sequence, path, merged))
        else:
            holders.append(Holder(entry.lowest_sequence, entry.sequence, path, merged))
    return holders


def add_stream(connection: Connection, tap: str, stream: str, uploads: bool = False) -> None:
    """Raises `ConfigError` where two streams have one key."""
    key = stream_key(tap, stream, uploads)
    names = {"tap": to_safe(tap), "stream": to_safe(stream)}
    values = {"key": key, "uploads": int(uploads), **names}
    connection.run(_SQL["add_stream"], values)
    ((found_tap, found_stream, *_),) = connection.rows(_SQL["lock_stream"], {"key": key})
    if (found_tap, found_stream) != (names["tap"], names["stream"]):
        raise ConfigError(
            f"stream {stream!r} of {tap!r} has the key of {from_safe(found_stream)!r} of "
            f"{from_safe(found_tap)!r}: no index holds both; keep one of the taps in another lake"
        )


def add_lengths(connection: Connection, lengths: set[int]) -> None:
    for length in sorted(lengths):
        connection.run(_SQL["add_length"], {"length": length})


def run_number(connection: Connection, tap: str, run_id: str, writer_id: str) -> int:
    """The number that stands for a run in its entries."""
    names = {"tap": to_safe(tap), "run_id": to_safe(run_id), "writer_id": to_safe(writer_id)}
    connection.run(_SQL["add_run"], names)
    ((number,),) = connection.rows(_SQL["run_number"], names)
    return int(number)


def put_uploads(connection: Connection, entries: Sequence[Entry]) -> None:
    """Each in place of the upload with its id."""
    for entry in entries:
        assert entry.upload is not None
        add_stream(connection, entry.tap, entry.stream, uploads=True)
        id = to_safe(entry.id)
        connection.run(_SQL["drop_upload_entry"], {"id": id})
        run = None
        if entry.run_id is not None:
            run = run_number(connection, entry.tap, entry.run_id, entry.writer_id or "")
        row = values_of(entry, run, None)
        add_lengths(connection, {length_of(entry.start, entry.end)})
        connection.run(_SQL["add_entry"], row)
        words = {
            "id": id,
            "url": to_safe(entry.upload.url),
            "metadata": json.dumps(dict(entry.upload.metadata)),
        }
        places = {name: row[name] for name in ("stream", "starts", "ends", "sequence")}
        connection.run(_SQL["put_upload"], {**words, **places})
