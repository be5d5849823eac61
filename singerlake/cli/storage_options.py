"""Storage options: what fsspec is told about how to reach a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


def options_of(storage_options: str | None, pairs: tuple[str, ...] = ()) -> dict[str, Any]:
    """fsspec's storage options, from the JSON or its file, and the pairs that were given.

    Raises `click.UsageError`.
    """
    options = _decoded(storage_options) if storage_options else {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"-o {key}: expected KEY=VALUE")
        options[key] = _value(value)
    return options


def _decoded(text: str) -> dict[str, Any]:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).expanduser().read_text("utf-8")
        except (OSError, UnicodeDecodeError, RuntimeError) as error:
            # The last one is for a `~` where there is no home.
            raise click.UsageError(f"--storage-options {text}: {error}") from None
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as error:
        # The text may hold a secret, so it is not repeated.
        raise click.UsageError(f"--storage-options is not JSON: {error}") from None
    if not isinstance(options, dict):
        raise click.UsageError("--storage-options is not a JSON object")
    return options


def _value(text: str) -> Any:
    """Text, but for what can be no credential: a secret of digits must not become a number."""
    if text in ("true", "false", "null") or text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text
