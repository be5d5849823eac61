"""What tests of the target share."""

from __future__ import annotations

import pytest

from singerlake.store import memory
from tests.target import driving


@pytest.fixture(params=driving.DOORS)
def door(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same test through both doors, where it starts the command."""
    monkeypatch.setattr(driving, "DOOR", request.param)
    # A lake in memory is known by its name: the second door must not meet that of the first.
    monkeypatch.setattr(memory, "_stores", {})
    return str(request.param)
