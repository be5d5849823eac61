"""Modules that need an extra of the package: imported when a command runs."""

from __future__ import annotations

import importlib
from typing import Any

from singerlake.errors import ConfigError


def extra_module(name: str, extra: str, packages: frozenset[str]) -> Any:
    """`singerlake.<name>`. Raises `ConfigError` where one of the extra's packages is missing."""
    try:
        return importlib.import_module(f"singerlake.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in packages:
            raise
        raise ConfigError(
            f'this command needs {error.name}, which is missing: pip install "singerlake[{extra}]"'
        ) from error
