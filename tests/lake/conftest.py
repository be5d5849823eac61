"""What tests of the lake share."""

from __future__ import annotations

import pytest

from singerlake.format import manifest as manifests


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of files is enough for segments, and for segments of segments."""
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
