"""What people ask an engine in a SQLite file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from singerlake.processor.engine.sqlite.database import Database
from singerlake.processor.engine.sqlite.key import ENTRY, Key, Step, entry_of
from singerlake.processor.engine.values import (
    Counts,
    DeadLetter,
    Entry,
    KeyState,
    Scheduled,
    Status,
    until_a_moment,
)


class Looking(ABC):
    database: Database

    @abstractmethod
    def now(self) -> int: ...

    def states(self) -> Iterator[KeyState]:
        with self.database.read() as database:
            step = Step(database, self.now())
            yield from [_key_state(step, row) for row in step.where("true ORDER BY key")]

    def look(self, key: str) -> KeyState:
        with self.database.read() as database:
            step = Step(database, self.now())
            return _key_state(step, step.load(key))

    def peek(self, key: str, count: int = 10) -> Sequence[Entry]:
        with self.database.read() as database:
            return Step(database, self.now()).entries(key, count)

    def counts(self) -> Counts:
        with self.database.read() as database:

            def one(asked: str) -> int:
                return int(database.execute(asked).fetchone()[0] or 0)

            ready = one("SELECT count(*) FROM keys WHERE line NOT IN ('', '!', '|')")
            leased = one("SELECT count(*) FROM keys WHERE token != 0")
            scheduled, dead = (
                one("SELECT count(*) FROM scheduled"),
                one("SELECT count(*) FROM dead"),
            )
            oldest = one(
                "SELECT min(position) FROM events WHERE key IN "
                "(SELECT key FROM keys WHERE line = '*' ORDER BY turn LIMIT 1)"
            )
        age = max(0.0, (self.now() - oldest) / 1e6) if oldest else 0.0
        return Counts(ready, leased, scheduled, dead, age)

    def dead(self) -> Sequence[DeadLetter]:
        asked = f"SELECT {ENTRY}, key, reason, deliveries, at FROM dead ORDER BY at, position"
        with self.database.read() as database:
            return [
                DeadLetter(row[6], entry_of(row[:6]), row[7], row[8], row[9] / 1e6)
                for row in database.execute(asked).fetchall()
            ]

    def scheduled(self) -> Sequence[Scheduled]:
        asked = "SELECT id, key, due, value FROM scheduled ORDER BY due"
        with self.database.read() as database:
            return [Scheduled(i, k, d / 1e6, v) for i, k, d, v in database.execute(asked)]


def _key_state(step: Step, row: Key) -> KeyState:
    waiting, head = step.length(row.key), step.entries(row.key, 1)
    status: Status = "idle"
    until, is_sound = 0, True
    if row.token:
        status, until, is_sound = "leased", row.lease, row.lease > 0
    elif row.line == "!":
        status, until, is_sound = until_a_moment(row.deliveries), row.timer, row.timer > 0
    elif row.line == "|" or row.paused:
        status, is_sound = "paused", row.line == "|" or not waiting
    elif row.line:
        status, is_sound = "ready", row.line == "*" or row.timer > 0
    elif waiting:
        status, is_sound = "waiting for a start", row.is_closed()
    return KeyState(
        key=row.key,
        status=status,
        waiting=waiting,
        reason=row.paused,
        holder=row.slot,
        since=row.since / 1e6 if row.since else None,
        until=until / 1e6 if until else None,
        token=row.token,
        deliveries=row.deliveries,
        error=row.error,
        acknowledged=row.acknowledged,
        head=head[0] if head else None,
        state=row.state,
        progress=row.progress,
        session=row.session,
        accepted=row.accepted,
        stranded=not is_sound,
    )
