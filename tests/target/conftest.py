"""What tests of the target share."""

from __future__ import annotations

import pytest

from tests.target import driving


@pytest.fixture(params=driving.DOORS)
def door(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same test through both doors, where it starts the command."""
    monkeypatch.setattr(driving, "DOOR", request.param)
    return str(request.param)
