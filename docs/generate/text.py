"""Markdown from plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def prose(text: str) -> str:
    """Plain text as markdown; what stands between backticks stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*\[\]\\])", r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )


def code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
