"""The lake's one look at the clock, so that a test can hold it still."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> datetime:
    return datetime.now(timezone.utc)
