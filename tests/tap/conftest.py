"""What tests of the tap share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tap.replay import land_numbers


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    land_numbers(folder, 1, 2)
    return folder
