"""What the tests of hostile lakes have in common."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import hostile_enemy


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def grounds(tmp_path: Path, quiet: None) -> tuple[Path, Path]:
    """A lake, and another's folder beside it."""
    return hostile_enemy.grounds(tmp_path)
