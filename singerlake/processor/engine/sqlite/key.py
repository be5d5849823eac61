"""A key within a transaction: its row, and the steps that change it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields

from singerlake.processor.engine.values import Entry, Item

HOUR = 3_600_000_000
ENTRY = "position, value, id, source, start, expires"
"""The columns of an `Entry`."""


@dataclass
class Key:
    """The row of a key. The names are those of the columns."""

    key: str
    token: int = 0
    slot: str = ""
    since: int = 0
    lease: int = 0
    line: str = ""
    turn: int = 0
    timer: int = 0
    paused: str = ""
    acknowledged: int = 0
    last: int = 0
    opener: int = 0
    session: str = ""
    deliveries: int = 0
    handed: int = 0
    singly: int = 0
    client: str = ""
    sticky: int = 0
    last_token: int = 0
    state: bytes = b""
    progress: bytes = b""
    error: str = ""
    accepted: str = ""

    def let_go(self) -> None:
        self.token = self.since = self.lease = self.handed = 0
        self.slot = ""

    def advance(self, position: int) -> None:
        """The head has gone, acknowledged or dead."""
        self.acknowledged, self.deliveries, self.error = position, 0, ""

    def is_closed(self) -> bool:
        """Whether no event that waits may be processed: nothing opens a session."""
        return not self.session and self.opener <= self.acknowledged


COLUMNS = [column.name for column in fields(Key)]
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM keys WHERE "
_REPLACE = f"INSERT OR REPLACE INTO keys VALUES ({', '.join('?' * len(COLUMNS))})"


class Step:
    """One transaction at one moment. The same steps as in redis/lua/common.lua."""

    def __init__(self, database: sqlite3.Connection, now: int) -> None:
        self.database, self.now = database, now
        self.has_news = False

    def load(self, key: str) -> Key:
        row = self.database.execute(_SELECT + "key = ?", (key,)).fetchone()
        return Key(key) if row is None else Key(*row)

    def where(self, condition: str, *values: object) -> list[Key]:
        return [Key(*row) for row in self.database.execute(_SELECT + condition, values)]

    def save(self, row: Key) -> None:
        """A key without events, lease, session and memory leaves nothing but the floor of its
        numbers."""
        remembers = row.token or row.line or row.paused or row.session or row.state
        if not (remembers or row.accepted or row.client or self.length(row.key, 1)):
            number = max(row.last_token, row.last, row.acknowledged, self.floor())
            self.database.execute("INSERT OR REPLACE INTO meta VALUES ('floor', ?)", (str(number),))
            self.database.execute("DELETE FROM keys WHERE key = ?", (row.key,))
            return
        values = [getattr(row, column) for column in COLUMNS]
        self.database.execute(_REPLACE, values)

    def floor(self) -> int:
        found = self.database.execute("SELECT value FROM meta WHERE name = 'floor'").fetchone()
        return int(found[0]) if found else 0

    def length(self, key: str, most: int = -1) -> int:
        counted = "SELECT count(*) FROM (SELECT 1 FROM events WHERE key = ? LIMIT ?)"
        return int(self.database.execute(counted, (key, most)).fetchone()[0])

    def entries(self, key: str, count: int) -> list[Entry]:
        asked = f"SELECT {ENTRY} FROM events WHERE key = ? ORDER BY position LIMIT ?"
        return [entry_of(row) for row in self.database.execute(asked, (key, count))]

    def delete(self, key: str, position: int) -> None:
        """The events up to a position."""
        asked = "DELETE FROM events WHERE key = ? AND position <= ?"
        self.database.execute(asked, (key, position))

    def append(self, row: Key, items: Sequence[Item], ttl: int) -> None:
        position = row.last or self.floor()
        expires = self.now + ttl if ttl > 0 else 0
        for item in items:
            position = max(position + 1, self.now)
            if item.start:
                row.opener = position
            self.insert(row.key, position, expires, item)
        row.last = position
        self.make_ready(row)

    def insert(self, key: str, position: int, expires: int, item: Item) -> None:
        values = (key, position, expires, item.start, item.id, item.source, item.value)
        self.database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def make_ready(self, row: Key) -> None:
        """An idle key that has something to do waits from now on. The only way into a line."""
        if row.token or row.line or not self.length(row.key, 1):
            return
        if row.paused:
            row.line = "|"
        elif not row.is_closed():
            row.line, row.turn, row.timer = "*", self._next_turn(row.key), 0
            self.has_news = True
            if row.client and row.sticky > self.now and self._is_alive(row.client):
                row.line, row.timer = row.client, row.sticky

    def stop_waiting(self, row: Key) -> None:
        row.line, row.turn, row.timer = "", 0, 0

    def _is_alive(self, client: str) -> bool:
        asked = "SELECT 1 FROM clients WHERE client = ? AND until > ?"
        return self.database.execute(asked, (client, self.now)).fetchone() is not None

    def _next_turn(self, key: str) -> int:
        """Keys of one group stand in line; groups take turns, however long their lines are."""
        group = "g" + key.partition("/")[0] if "/" in key else "g"
        asked = "SELECT coalesce(max(turn), 0) FROM turns WHERE name IN ('', ?)"
        turn = int(self.database.execute(asked, (group,)).fetchone()[0]) + 1
        self.database.execute("INSERT OR REPLACE INTO turns VALUES (?, ?)", (group, turn))
        return turn

    def bury(self, row: Key, reason: str) -> None:
        for entry in self.entries(row.key, 1):
            self.database.execute(
                "INSERT OR REPLACE INTO dead SELECT *, ?, ?, ? FROM events "
                "WHERE key = ? AND position = ?",
                (reason, row.deliveries, self.now, row.key, entry.position),
            )
            self.delete(row.key, entry.position)
            row.advance(entry.position)


def entry_of(row: tuple[int, bytes, str, str, int, int]) -> Entry:
    position, value, id, source, start, expires = row
    return Entry(position, value, id, source, bool(start), expires / 1e6)
