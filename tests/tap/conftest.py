"""What tests of the tap share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tap import replay
from tests.tap.replay import land_numbers


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    land_numbers(folder, 1, 2)
    return folder


@pytest.fixture(params=replay.DOORS)
def door(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same test through both doors, where it starts the command."""
    monkeypatch.setattr(replay, "DOOR", request.param)
    return str(request.param)
