"""The storages, each new for every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from singerlake.index.open import open_index
from singerlake.index.storage.base import Storage
from tests.faults.scale import WHOLE
from tests.index.places import KINDS, ministack, new_url, postgresql

__all__ = ["ministack", "postgresql"]


@pytest.fixture(params=[*KINDS, "ministack"] if WHOLE else KINDS)
def index_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty index of each kind."""
    return new_url(request, str(request.param), tmp_path)


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
    kind = index_url.partition(":")[0]
    return {"sqlite": 150, "postgresql": 40, "dynamodb": 8}[kind]
