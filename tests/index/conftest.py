"""The storages, each new for every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from singerlake.index.open import open_index
from singerlake.index.storage.base import Storage


@pytest.fixture
def index_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/index.db"


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
def questions() -> int:
    """How many random questions a test asks."""
    return 150
