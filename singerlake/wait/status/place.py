"""Where the database of waits is, unless somebody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "SINGERLAKE_EVENTS_DATABASE"


def default_url() -> str:
    """SQLite in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return f"sqlite:///{cache / 'singerlake' / 'events.db'}"
