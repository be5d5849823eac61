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
CONNECTION = "airflow://"
"""An address that begins so names a connection of Airflow."""


def database_url() -> str:
    """Where posts and the status of waits are."""
    return os.environ.get(VARIABLE) or default_url()


def opened_lake(url: str) -> Lake:
    """The lake at an address, or at $SINGERLAKE_ROOT without one. `airflow://NAME` is the lake of
    that connection of Airflow, whose extra has `root` and `storage_options`.

    Raises `ConfigError`, and what the store raises.
    """
    address = url or os.environ.get(ROOT)
    if not address:
        raise ConfigError(f"expected the lake of an event: `lake`, or ${ROOT}; found neither")
    if address.startswith(CONNECTION):
        return open_on(open_store(*_connected(address.removeprefix(CONNECTION))))
    return open_on(open_store(address, _storage_options()))


def _connected(name: str) -> tuple[str, dict[str, Any]]:
    """The address and the options that a connection has. Not in the thread of an event loop."""
    from airflow.exceptions import AirflowNotFoundException
    from airflow.sdk import BaseHook

    try:
        extra = BaseHook.get_connection(name).extra_dejson
    except AirflowNotFoundException:
        raise ConfigError(f"expected a connection {name!r} in Airflow, found none") from None
    root, options = extra.get("root"), extra.get("storage_options") or {}
    if not isinstance(root, str) or not root or not isinstance(options, dict):
        # The extra may hold a secret, so it is not repeated.
        raise ConfigError(
            f"connection {name!r}: expected an extra such as "
            '{"root": "s3://bucket/lake", "storage_options": {}}, found another'
        )
    return root, options


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
