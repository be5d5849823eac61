"""What tests of the tap share."""

from __future__ import annotations

from collections.abc import Iterator
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
def door(request: pytest.FixtureRequest) -> Iterator[str]:
    """The same test through both doors, where it starts the command."""
    # With patches of its own: a test may undo those that it made.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "DOOR", request.param)
        yield str(request.param)
