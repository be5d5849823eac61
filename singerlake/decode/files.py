"""The column `_files`: where the files of any kind lie that a record names, by property."""

from __future__ import annotations

import json
from typing import Any

from singerlake.format.blob_keys import kind_of


def file_paths(value: Any) -> list[tuple[str, str]] | None:
    """The paths below the stream's folder; None where there is none that leads to bytes."""
    if not isinstance(value, dict):
        return None
    return [
        (name, path)
        for name, path in value.items()
        if isinstance(path, str) and kind_of(path) == "blob"
    ] or None


def file_paths_of(text: bytes) -> list[tuple[str, str]] | None:
    """The same, of JSON text."""
    try:
        return file_paths(json.loads(text))
    except (ValueError, RecursionError):
        return None
