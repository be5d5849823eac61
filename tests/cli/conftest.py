"""Fixtures of the tests of the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.lake import build, folder


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake of `tests.cli.lake`, to look at."""
    root = tmp_path_factory.mktemp("cli") / "lake"
    build(root)
    return root


@pytest.fixture
def root(built: Path, tmp_path: Path) -> Path:
    """A copy of it, to change."""
    return Path(shutil.copytree(built, tmp_path / "lake"))


@pytest.fixture
def sound(root: Path) -> Path:
    """A copy without the damaged file's stream."""
    shutil.rmtree(folder(root, "damaged"))
    return root
