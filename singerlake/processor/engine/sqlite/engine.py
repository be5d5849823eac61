"""The engine in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from singerlake.errors import BusyError, UnsupportedFormat
from singerlake.processor.engine.base import BACKLOG, Engine
from singerlake.processor.engine.sqlite.database import Database
from singerlake.processor.engine.sqlite.key import Step
from singerlake.processor.engine.sqlite.listener import SqliteListener
from singerlake.processor.engine.sqlite.looking import Looking
from singerlake.processor.engine.sqlite.resuming import go_on, to_head
from singerlake.processor.engine.sqlite.turn import TurnStep, us
from singerlake.processor.engine.values import (
    RENUMBERED,
    Grant,
    Item,
    Outcome,
    Slot,
    Terms,
    Turn,
    paused_by,
    pauses,
    require_reason,
)
from singerlake.runtime import REAL, Runtime

FORMAT = "1"

AnyStep = TypeVar("AnyStep", bound=Step)


class SqliteEngine(Looking, Engine):
    """`synchronous` is `full`, which a power cut costs nothing, or `normal`, which is faster."""

    def __init__(
        self,
        path: str = ":memory:",
        backlog: int = BACKLOG,
        synchronous: str = "full",
        runtime: Runtime = REAL,
    ) -> None:
        super().__init__(f"sqlite:///{path}", backlog, runtime)
        self.database = Database(path, synchronous)

    def now(self) -> int:
        """Microseconds since the epoch."""
        return us(self.runtime.now().timestamp())

    def open(self) -> None:
        self.database.open()
        with self.database.write() as database:
            database.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (FORMAT,))
            found = database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()[0]
        if found != FORMAT:
            raise UnsupportedFormat(
                f"{self.url}: expected an engine of format {FORMAT}, found {found}; upgrade "
                "Singerlake, or choose another file"
            )
        self._is_open = True

    def close(self) -> None:
        self._is_open = False
        self.database.close()

    def shard_of(self, key: str) -> int:
        return 0

    @contextmanager
    def _step(self, kind: type[AnyStep]) -> Iterator[AnyStep]:
        with self.database.write() as database:
            step = kind(database, self.now())
            yield step
        if step.has_news:
            self.database.notify()

    # Adding

    def append(self, key: str, items: Sequence[Item], ttl: float) -> bool:
        with self._step(TurnStep) as step:
            id = items[0].id if len(items) == 1 else ""
            if id and (_is_known(step, id) or _is_scheduled(step, id)):
                return True
            if step.length(key, self.backlog + 1) + len(items) > self.backlog:
                return False
            if id:
                step.remember(id)
            row = step.load(key)
            step.append(row, items, us(ttl))
            step.save(row)
        return True

    def schedule(self, key: str, item: Item, when: float, ttl: float, relative: bool) -> bool:
        with self._step(Step) as step:
            if _is_known(step, item.id):
                return False
            due = us(when) + (step.now if relative else 0)
            step.has_news = True  # who waits for a later moment waits for this one instead
            row = (item.id, key, due, us(ttl), item.start, item.value)
            made = step.database.execute(
                "INSERT OR IGNORE INTO scheduled VALUES (?, ?, ?, ?, ?, ?)", row
            )
            return made.rowcount == 1

    def cancel(self, id: str) -> bool:
        with self.database.write() as database:
            return database.execute("DELETE FROM scheduled WHERE id = ?", (id,)).rowcount == 1

    def hand_over(
        self, name: str, key: str, before: str, after: str, items: Sequence[Item]
    ) -> str | None:
        with self._step(Step) as step:
            asked = "SELECT place FROM places WHERE name = ? AND key = ?"
            found = step.database.execute(asked, (name, key)).fetchone()
            place = str(found[0]) if found else ""
            if place == after or place != before:
                return place
            waiting = step.length(key, self.backlog + 1) if items else 0
            if waiting + len(items) > self.backlog:
                return None
            step.database.execute(
                "INSERT OR REPLACE INTO places VALUES (?, ?, ?)", (name, key, after)
            )
            if items:
                row = step.load(key)
                step.append(row, items, 0)
                step.save(row)
        return after

    def places(self, name: str) -> Mapping[str, str]:
        with self.database.read() as database:
            return dict(database.execute("SELECT key, place FROM places WHERE name = ?", (name,)))

    # Processing

    def turn(
        self,
        shard: int,
        slot: Slot,
        terms: Terms,
        outcome: Outcome | None = None,
        *,
        claim: bool = True,
        sweep: bool = True,
        announce: bool = False,
    ) -> Turn:
        if outcome is None:
            quiet = self._quiet(slot, terms)
            if quiet is not None:
                return quiet
        grant: Grant | None = None
        lost = False
        with self._step(TurnStep) as step:
            step.slot, step.terms = slot, terms
            if outcome is not None:
                lost, grant = step.settle(outcome)
            if sweep:
                step.sweep()
            if claim and grant is None and not self._is_full(step.database, terms):
                grant = step.take()
            wait = None if grant else _until(step)
        return Turn(grant, lost, wait, step.expired)

    def _quiet(self, slot: Slot, terms: Terms) -> Turn | None:
        """The answer where there is nothing to do: it costs no write."""
        with self.database.read() as database:
            step = TurnStep(database, self.now())
            lines = "SELECT 1 FROM keys WHERE line IN ('*', ?) AND line != '' LIMIT 1"
            if self._is_full(database, terms):
                return None
            if database.execute(lines, (slot.client,)).fetchone() is not None:
                return None
            wait = _until(step)
            if wait == 0:
                return None
            return Turn(wait=wait)

    def _is_full(self, database: sqlite3.Connection, terms: Terms) -> bool:
        if not terms.limit:
            return False
        leased = database.execute("SELECT count(*) FROM keys WHERE token != 0").fetchone()[0]
        return bool(leased >= terms.limit)

    def renew(
        self, shard: int, client: str, terms: Terms, held: Mapping[str, int]
    ) -> Sequence[str]:
        lost = []
        with self._step(Step) as step:
            until = step.now + us(terms.lease)
            if terms.has_own_line:
                step.database.execute(
                    "INSERT OR REPLACE INTO clients VALUES (?, ?)", (client, until)
                )
            for key, token in held.items():
                asked = "UPDATE keys SET lease = ? WHERE key = ? AND token = ?"
                if step.database.execute(asked, (until, key, token)).rowcount == 0:
                    lost.append(key)
        return lost

    def progress(self, key: str, token: int, position: int, progress: bytes) -> bool:
        with self.database.write() as database:
            asked = "UPDATE keys SET progress = ? WHERE key = ? AND token = ?"
            kept = b"%d|%b" % (position, progress)
            return database.execute(asked, (kept, key, token)).rowcount == 1

    def listener(self, client: str) -> SqliteListener:
        return SqliteListener(self.database, self.runtime)

    # Looking after

    def pause(self, key: str, reason: str) -> None:
        require_reason(reason)
        with self._step(Step) as step:
            row = step.load(key)
            if not row.token:
                step.stop_waiting(row)
                row.line = "|"
            row.paused = paused_by(pauses(row.paused)[0], reason)
            step.save(row)

    def resume(self, key: str) -> bool:
        with self._step(Step) as step:
            row = step.load(key)
            if not row.paused:
                return False
            is_held, reason = pauses(row.paused)
            if reason.startswith(RENUMBERED):
                row.accepted = reason.split()[1]
            # What a dead letter holds, too, waits for a word of its own.
            row.paused = paused_by(is_held and bool(reason), "")
            go_on(step, row)
        return True

    def redrive(self, key: str, position: int) -> bool:
        with self._step(Step) as step:
            row = step.load(key)
            found = step.database.execute(
                "SELECT expires, start, id, source, value FROM dead WHERE key = ? AND position = ?",
                (key, position),
            ).fetchone()
            if found is None:
                return False
            if row.token:
                raise BusyError(
                    f"{self.url}: key {key!r} is being processed; pause it, or try again later"
                )
            step.stop_waiting(row)
            row.deliveries, row.progress, row.error = 0, b"", ""
            expires, start, id, source, value = found
            item = Item(value, id, source, bool(start))
            to_head(step, row, position, expires, item)
            self._drop(step, key, position)
            go_on(step, row)
        return True

    def drop(self, key: str, position: int) -> bool:
        with self._step(Step) as step:
            if not self._drop(step, key, position):
                return False
            go_on(step, step.load(key))
        return True

    def _drop(self, step: Step, key: str, position: int) -> bool:
        asked = "DELETE FROM dead WHERE key = ? AND position = ?"
        return step.database.execute(asked, (key, position)).rowcount == 1


def _is_known(step: Step, id: str) -> bool:
    asked = "SELECT 1 FROM ids WHERE id = ? AND until > ?"
    return step.database.execute(asked, (id, step.now)).fetchone() is not None


def _is_scheduled(step: Step, id: str) -> bool:
    asked = "SELECT 1 FROM scheduled WHERE id = ?"
    return step.database.execute(asked, (id,)).fetchone() is not None


def _until(step: TurnStep) -> float | None:
    """Seconds until the next timer."""
    found = step.next_timer()
    return None if found is None else max(0.0, (found - step.now) / 1e6)
