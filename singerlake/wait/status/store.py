"""The status of waits: which events are awaited, which came, which were missed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import msgspec
from sqlalchemy import ColumnElement, Engine, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from singerlake.runtime import REAL, Runtime
from singerlake.wait.arrival import Arrival, State
from singerlake.wait.event import ALWAYS, Awaited, source_type
from singerlake.wait.status.database import answered
from singerlake.wait.status.table import AWAITED
from singerlake.wait.window import Span


@dataclass(frozen=True)
class Status:
    """A row of the table: one event of one wait in one window."""

    wait: str
    window: str
    name: str
    msg: str
    source_type: str
    frequency: str
    state: State
    late: bool
    window_start: datetime | None = None
    window_end: datetime | None = None
    last_receive: str | None = None
    last_receive_time: datetime | None = None
    timeout: datetime | None = None
    position: Mapping[str, Any] | None = None
    error: str = ""
    event: Mapping[str, Any] | None = None
    changed: datetime | None = None


class StatusStore:
    """Every change is one transaction, and may come twice."""

    def __init__(self, engine: Engine, runtime: Runtime = REAL) -> None:
        self._engine, self._runtime = engine, runtime

    def declare(self, wait: str, event: Awaited, span: Span, timeout: datetime | None) -> Status:
        """The row of an event, made where there is none: who declared first has declared it."""
        row = {
            "wait": wait,
            "window": span.name,
            "name": event.title,
            "msg": event.subject,
            "source_type": source_type(event),
            "frequency": event.frequency,
            "window_start": None if span == ALWAYS else span.start,
            "window_end": None if span == ALWAYS else span.end,
            "timeout": timeout,
            "state": "waiting",
            "late": False,
            "error": "",
            "event": json.dumps(msgspec.to_builtins(event)),
            "changed": self._runtime.now(),
        }
        found = self.find(wait, span.name, event.title)
        if found is not None:
            return found
        # Two may declare it at once; the row of the first counts.
        with answered(self._engine), suppress(IntegrityError), self._engine.begin() as connection:
            connection.execute(insert(AWAITED).values(row))
        return cast(Status, self.find(wait, span.name, event.title))

    def receive(self, wait: str, window: str, name: str, arrival: Arrival) -> None:
        """The first arrival counts. One after the event was given up as missed is late."""
        self._change(
            wait,
            window,
            name,
            ("waiting", "missed"),
            late=AWAITED.c.state == "missed",
            state="received",
            last_receive=arrival.text,
            last_receive_time=arrival.time,
            position=json.dumps(dict(arrival.position)),
            error="",
        )

    def miss(self, wait: str, window: str, name: str, deadline: datetime | None = None) -> None:
        """It was given up, by a `deadline` that was not declared with it."""
        known = {} if deadline is None else {"timeout": deadline}
        self._change(wait, window, name, ("waiting",), state="missed", **known)

    def await_again(
        self, wait: str, window: str, name: str, deadline: datetime | None = None
    ) -> None:
        """What came has slid out of its window, or what was given up is waited for anew."""
        self._change(
            wait,
            window,
            name,
            ("received", "missed"),
            late=False,
            state="waiting",
            last_receive=None,
            last_receive_time=None,
            position=None,
            timeout=deadline,
        )

    def fail(self, wait: str, window: str, name: str, error: str) -> None:
        """Nobody can know now; "" where somebody can again."""
        self._change(wait, window, name, ("waiting", "missed"), error=error)

    def find(self, wait: str, window: str, name: str) -> Status | None:
        rows = self._rows(_is_row(wait, window, name))
        return rows[0] if rows else None

    def rows(self, wait: str | None = None, limit: int | None = None) -> list[Status]:
        """The newest last."""
        return self._rows(AWAITED.c.wait == wait if wait is not None else None, limit)

    def rows_under(self, prefix: str, limit: int | None = None) -> list[Status]:
        """Those of all waits whose names begin so, the newest last."""
        # Not LIKE: for SQLite, the run of a DAG `Sales` would be one of `sales`.
        return self._rows(func.substr(AWAITED.c.wait, 1, len(prefix)) == prefix, limit)

    def forget(self, before: datetime) -> int:
        """Remove rows that nobody has changed since, except those still waited for."""
        is_over = or_(AWAITED.c.state != "waiting", AWAITED.c.timeout < before)
        with answered(self._engine), self._engine.begin() as connection:
            old = and_(AWAITED.c.changed < before, is_over)
            return connection.execute(delete(AWAITED).where(old)).rowcount

    def count(self) -> int:
        with answered(self._engine), self._engine.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(AWAITED)).scalar_one())

    def _change(
        self, wait: str, window: str, name: str, states: Sequence[str], **values: Any
    ) -> None:
        changed = {"changed": self._runtime.now(), **values}
        is_open = and_(_is_row(wait, window, name), AWAITED.c.state.in_(states))
        with answered(self._engine), self._engine.begin() as connection:
            connection.execute(update(AWAITED).where(is_open).values(changed))

    def _rows(self, which: ColumnElement[bool] | None, limit: int | None = None) -> list[Status]:
        query = select(AWAITED).order_by(AWAITED.c.id.desc())
        if which is not None:
            query = query.where(which)
        if limit is not None:
            query = query.limit(limit)
        with answered(self._engine), self._engine.connect() as connection:
            return [_status(row) for row in reversed(connection.execute(query).mappings().all())]


def received(row: Status) -> Arrival:
    """What came, of a row that is received."""
    time = row.last_receive_time or ALWAYS.start
    return Arrival(time=time, position=row.position or {}, text=row.last_receive or "")


def _is_row(wait: str, window: str, name: str) -> ColumnElement[bool]:
    return and_(AWAITED.c.wait == wait, AWAITED.c.window == window, AWAITED.c.name == name)


def _status(row: Mapping[Any, Any]) -> Status:
    fields = {key: value for key, value in row.items() if key != "id"}
    for name in ("position", "event"):
        fields[name] = None if fields[name] is None else json.loads(fields[name])
    return Status(**fields)
