"""Storage options: what fsspec is told about how to reach a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


def options_of_output(
    root: str, options: Mapping[str, Any], out: str, given: str | None
) -> Mapping[str, Any]:
    """The options of OUT: its own, or those of the lake where it is a store of the same kind."""
    if given is not None:
        return options_of(given)
    return options if _scheme(root) == _scheme(out) else {}


def _scheme(url: str) -> str:
    return url.partition("://")[0] if "://" in url else ""


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
