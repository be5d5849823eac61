"""Which database holds the posts and the status of waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import click
import msgspec

from singerlake.cli.extra import extra_module
from singerlake.errors import Unavailable
from singerlake.runtime import REAL
from singerlake.wait.event import Awaited, HttpEvent
from singerlake.wait.source.base import Answer, Question
from singerlake.wait.status.place import VARIABLE, default_url

PACKAGES = frozenset({"alembic", "sqlalchemy", "psycopg"})
"""What the extra `wait` brings."""

database_option = click.option(
    "--database",
    envvar=VARIABLE,
    metavar="URL",
    help="An SQLAlchemy URL, such as postgresql://host/name; SQLite in your cache folder by "
    f"default. Also from ${VARIABLE}.",
)


@dataclass(frozen=True)
class Waits:
    """The database, opened."""

    engine: Any

    def inbox(self) -> Any:
        return extra_module("wait.inbox", "wait", PACKAGES).Inbox(self.engine)

    def inbox_source(self) -> Any:
        return extra_module("wait.source.inbox", "wait", PACKAGES).InboxSource(self.inbox())

    def store(self) -> Any:
        return extra_module("wait.status.store", "wait", PACKAGES).StatusStore(self.engine)


def open_waits(url: str | None) -> Waits:
    """Raises `ConfigError` where the extra is missing, and what `open_database` raises."""
    opened = extra_module("wait.status.database", "wait", PACKAGES)
    return Waits(opened.open_database(url or default_url()))


class PatientInbox:
    """The source of posts, from a database that may be away when a wait begins."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._source: Any = None

    def anchored(self, event: HttpEvent) -> Awaited:
        try:
            return cast(Awaited, self._opened().anchored(event))
        except Unavailable:
            is_placed = event.window or event.since or event.after is not None
            return event if is_placed else msgspec.structs.replace(event, since=REAL.now())

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        try:
            return cast(list[Answer], self._opened().look(questions))
        except Unavailable as error:
            return [error] * len(questions)

    def close(self) -> None:
        """The process ends, and with it the connection."""

    def _opened(self) -> Any:
        if self._source is None:
            self._source = open_waits(self._url).inbox_source()
        return self._source
