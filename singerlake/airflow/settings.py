"""What the environment says: the same variables as those of the command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from singerlake.errors import ConfigError
from singerlake.lake import Lake, open_on
from singerlake.store import open_store
from singerlake.wait.status.place import VARIABLE, default_url

ROOT = "SINGERLAKE_ROOT"
STORAGE_OPTIONS = "SINGERLAKE_STORAGE_OPTIONS"


def database_url() -> str:
    """Where posts and the status of waits are."""
    return os.environ.get(VARIABLE) or default_url()


def opened_lake(url: str) -> Lake:
    """The lake at an address, or at $SINGERLAKE_ROOT without one.

    Raises `ConfigError`, and what the store raises.
    """
    address = url or os.environ.get(ROOT)
    if not address:
        raise ConfigError(f"expected the lake of an event: `lake`, or ${ROOT}; found neither")
    return open_on(open_store(address, _storage_options()))


def _storage_options() -> dict[str, Any]:
    text = os.environ.get(STORAGE_OPTIONS, "")
    try:
        if text.startswith("@"):
            text = Path(text[1:]).expanduser().read_text("utf-8")
        options = json.loads(text or "{}")
    except (OSError, ValueError, RecursionError) as error:
        # The text may hold a secret, so it is not repeated.
        raise ConfigError(
            f"${STORAGE_OPTIONS}: expected a JSON object, or @FILE ({type(error).__name__})"
        ) from None
    if not isinstance(options, dict):
        raise ConfigError(f"${STORAGE_OPTIONS}: expected a JSON object, found another value")
    return options
