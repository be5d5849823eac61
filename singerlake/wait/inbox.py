"""The inbox: what was posted, kept before the answer, so that a wait can look for it later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, and_, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from singerlake.errors import ConfigError
from singerlake.runtime import REAL, Runtime
from singerlake.wait.status.database import answered
from singerlake.wait.status.name import NAME, is_kept
from singerlake.wait.status.table import INBOX
from singerlake.wait.window import Span

PAGE = 500

MOST_LEVELS = 100
"""Of JSON in JSON. Python's parser takes as many as the stack has left: what one thread has read,
another cannot read."""


@dataclass(frozen=True)
class Post:
    """`number` is its place in the inbox, `time` that of the event, by whoever posted it."""

    number: int
    post: str
    id: str
    time: datetime
    received: datetime
    body: Any


class Inbox:
    """Durable: what `take` has returned is in the database."""

    def __init__(self, engine: Engine, runtime: Runtime = REAL) -> None:
        self._engine, self._runtime = engine, runtime

    def take(
        self, post: str, body: Any, id: str | None = None, time: datetime | None = None
    ) -> bool:
        """Keep a post; returns False for a repeat, which has the id of an earlier one.

        Without an id every post is another. Raises `ConfigError` for names that no table can keep,
        and for a body that not every wait could read.
        """
        for what, text in (("name", post), ("id", id or "")):
            if len(text) > NAME or (what == "name" and not text):
                raise ConfigError(
                    f"expected the {what} of an event of 1 to {NAME} characters, found {len(text)}"
                )
            if not is_kept(text):
                raise ConfigError(
                    f"expected the {what} of an event as text without U+0000 and halves of "
                    "characters (U+D800 to U+DFFF), found one of them"
                )
        if _is_deep(body):
            raise ConfigError(
                f"expected the JSON of an event with at most {MOST_LEVELS} levels, found more"
            )
        now = self._runtime.now()
        row = {
            "post": post,
            "id": id or self._runtime.new_id(),
            "time": time or now,
            "received": now,
            "body": json.dumps(body),
        }
        with answered(self._engine), suppress(IntegrityError), self._engine.begin() as connection:
            connection.execute(insert(INBOX).values(row))
            return True
        return False

    def find(
        self, post: str, span: Span, after: int = 0, since: datetime | None = None
    ) -> Iterator[Post]:
        """The posts of a name in a span, in the order in which they came; from `since` on."""
        which = and_(INBOX.c.post == post, INBOX.c.time >= span.start, INBOX.c.time < span.end)
        if since is not None:
            which = and_(which, INBOX.c.received >= since)
        while True:
            query = select(INBOX).where(and_(which, INBOX.c.number > after))
            query = query.order_by(INBOX.c.number).limit(PAGE)
            with answered(self._engine), self._engine.connect() as connection:
                rows = connection.execute(query).mappings().all()
            yield from (_post(row) for row in rows)
            if len(rows) < PAGE:
                return
            after = rows[-1]["number"]

    def last_number(self) -> int:
        """That of the newest post, 0 without any."""
        with answered(self._engine), self._engine.connect() as connection:
            return int(connection.execute(select(func.max(INBOX.c.number))).scalar() or 0)

    def forget(self, before: datetime) -> int:
        """Remove what was received before; returns how many."""
        with answered(self._engine), self._engine.begin() as connection:
            return connection.execute(delete(INBOX).where(INBOX.c.received < before)).rowcount


def _is_deep(body: Any) -> bool:
    """Level by level: recursion would meet the limit that this is about."""
    level = [body]
    for _ in range(MOST_LEVELS):
        level = [inner for one in level for inner in _inner(one)]
    return any(isinstance(one, (Mapping, list, tuple)) for one in level)


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _post(row: Mapping[Any, Any]) -> Post:
    return Post(**{**row, "body": json.loads(row["body"])})
