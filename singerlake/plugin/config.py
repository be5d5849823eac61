"""Checks of settings that the tap and the target share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from singerlake.errors import ConfigError


def require_storage_options(config: Mapping[str, Any]) -> None:
    """Raises `ConfigError`, which never quotes the options: there are secrets among them.

    To be called ahead of a validator, which would quote what it refuses.
    """
    if not isinstance(config.get("storage_options"), Mapping | None):
        raise ConfigError('storage_options is not an object, such as {"key": …, "secret": …}')
