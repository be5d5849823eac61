"""A consumer of the feed in a process of its own, whose table and bookmarks are in SQLite."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from singerlake.lake import open_lake
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed, Event, Failed, Replaced, RunEnded
from singerlake.lake.feed.options import FeedOptions
from tests.lake.test_races import Place

OPTIONS = FeedOptions(poll_seconds=0.05, idle_seconds=0.2)
KILLED, TWICE, ODD = 9, 3, 4
PASSING = {"Unavailable", "StaleSnapshot"}
"""Failures that a busy server, or a purge, may cause."""

TABLES = """
    create table if not exists commits (
        tap, stream, log_id, sequence, records, run_id, path,
        primary key (tap, stream, log_id, sequence));
    create table if not exists runs (
        tap, log_id, number, run_id, writer_id,
        primary key (tap, log_id, number), unique (run_id, writer_id));
    create table if not exists places (tap, stream, place, primary key (tap, stream));
"""
Row = tuple[object, ...]


def _at_once(
    keep: Callable[[], None], effect: Callable[[], None]
) -> tuple[Callable[[], None], ...]:
    def both() -> None:
        effect()
        keep()

    return (both,)


ORDERS: dict[str, Callable[..., tuple[Callable[[], None], ...]]] = {
    "at once": _at_once,
    "the effect first": lambda keep, effect: (effect, keep),
    "the bookmark first": lambda keep, effect: (keep, effect),
}
"""How the effect and the bookmark become transactions: only the first is right."""


@dataclass
class Table:
    """`dies` is the event at which the process ends, between two transactions if there are two."""

    path: Path
    order: str = "at once"
    dies: int = 0

    def __post_init__(self) -> None:
        self._database = sqlite3.connect(self.path, isolation_level=None, timeout=60)
        self._database.execute("pragma synchronous = off")  # processes die, the machine does not
        self._database.executescript(TABLES)
        self._applied = 0

    def cursor(self) -> Cursor:
        kept = {
            (tap, stream): Bookmark.parse(json.loads(place))
            for tap, stream, place in self.rows("select tap, stream, place from places")
        }
        streams = {key: place for key, place in kept.items() if key[1]}
        return Cursor(streams, {key[0]: place for key, place in kept.items() if not key[1]})

    def rows(self, query: str) -> list[Row]:
        return self._database.execute(query).fetchall()

    def apply(self, event: Event) -> None:
        self._applied += 1
        parts = ORDERS[self.order](lambda: self._keep(event), lambda: self._change(event))
        for number, part in enumerate(parts):
            if number and self._applied == self.dies:
                os._exit(KILLED)
            self._database.execute("begin immediate")
            part()
            self._database.execute("commit")

    def _keep(self, event: Event) -> None:
        place = json.dumps(event.bookmark.to_json())
        row = (event.tap, event.stream, place)
        self._database.execute("insert or replace into places values (?, ?, ?)", row)

    def _change(self, event: Event) -> None:
        match event:
            case Committed():
                self._database.executemany(
                    "insert into commits values (?, ?, ?, ?, ?, ?, ?)",
                    [
                        (
                            *(event.tap, event.stream, event.bookmark.log_id),
                            *(file.sequence, file.records, file.run_id, file.path),
                        )
                        for file in event.files
                    ],
                )
            case Replaced():
                self._replace(event)
            case RunEnded():
                place = event.bookmark
                row = (event.tap, place.log_id, place.sequence, event.run_id, event.writer_id)
                self._database.execute("insert into runs values (?, ?, ?, ?, ?)", row)
                self._require_commits(event)
            case Failed() if event.kind in PASSING:
                pass  # it comes again if it lasts
            case _:
                raise AssertionError(event)

    def _replace(self, event: Replaced) -> None:
        for file in event.files:
            first = max(file.lowest_sequence, event.first_sequence)
            last = min(file.sequence, event.last_sequence)
            self._database.execute(
                "update commits set path = ? where tap = ? and stream = ? and log_id = ? "
                "and sequence between ? and ?",
                (file.path, event.tap, event.stream, event.bookmark.log_id, first, last),
            )

    def _require_commits(self, event: RunEnded) -> None:
        for stream, left in event.streams.items():
            [(there,)] = self._database.execute(
                "select count(*) from commits where tap = ? and stream = ? and run_id = ?",
                (event.tap, stream, event.run_id),
            )
            assert there == left.files, (event, there)


def consume(place: Place, path: Path, over: Path, order: str = "at once", dies: int = 0) -> None:
    """In a process of its own: follow the lake, until it is over and nothing is new."""
    table = Table(path, order, dies)
    feed = open_lake(place.url, **place.storage_options).feed(table.cursor(), options=OPTIONS)
    empty = 0
    try:
        while empty < 2:
            is_over, count = over.exists(), 0
            for event in feed.poll():
                table.apply(event)
                count += 1
            empty = empty + 1 if is_over and not count else 0
            time.sleep(2 * OPTIONS.idle_seconds if is_over else OPTIONS.poll_seconds)
    except sqlite3.IntegrityError:
        os._exit(TWICE)
    except AssertionError as error:
        print(error)
        os._exit(ODD)
