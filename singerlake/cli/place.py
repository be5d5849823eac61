"""Which of the words that were typed is the root, where it may have been left out."""

from __future__ import annotations

import os

import click

VARIABLE = "SINGERLAKE_ROOT"


def in_place(words: list[str], names: tuple[str, ...], last_is_optional: bool) -> list[str | None]:
    """The root, and a word for each name. Raises `click.UsageError` where one is missing.

    Where a word is missing and $SINGERLAKE_ROOT is set, the root is what was left out. Where the
    last name is optional, that cannot be told by counting: a first word with a slash is a root.
    """
    root = os.environ.get(VARIABLE)
    least = len(names) - last_is_optional
    typed = len(words) > len(names) or (len(words) > least and _is_address(words[0]))
    if root and not typed:
        words = [root, *words]
    if len(words) > least:
        return [*words, *[None] * (1 + len(names) - len(words))]
    missing = ("root", *names)[len(words)].upper()
    if root:
        raise click.UsageError(f"Missing argument {missing}.")
    raise click.UsageError(
        f"Missing argument {missing}. ROOT is the lake's folder or URL; ${VARIABLE} can hold it."
    )


def _is_address(word: str) -> bool:
    return "/" in word or os.sep in word or word in (".", "..")
