"""Which database holds the posts and the status of waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from singerlake.cli.extra import extra_module
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
