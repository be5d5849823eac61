"""Fixtures of the tests of waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres_package import Postgres, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server
