"""What cannot be had is no silent pass: it fails in CI, and is skipped elsewhere."""

from __future__ import annotations

import pytest

from tests import packages


def test_what_is_absent_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no server"):
        packages.absent("no server")


def test_what_is_absent_is_skipped_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no server"):
        packages.absent("no server")
