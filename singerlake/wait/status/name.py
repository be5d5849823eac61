"""Names as the tables keep them: others choose them, and databases have limits."""

from __future__ import annotations

from hashlib import sha256

NAME = 250
"""The longest name: MySQL's keys hold no more."""

_DIGITS = 16


def is_kept(text: str) -> bool:
    """Whether every database takes it: PostgreSQL has no U+0000, and UTF-8 no halves of pairs."""
    return not any(one == "\0" or "\ud800" <= one <= "\udfff" for one in text)


def cleaned(text: str) -> str:
    """The text, with a sign in the place of what no database takes."""
    if is_kept(text):
        return text
    return "".join(one if is_kept(one) else "\N{REPLACEMENT CHARACTER}" for one in text)


def fitting(text: str) -> str:
    """The name, or the beginning of one that is too long: two names stay two."""
    if len(text) <= NAME and is_kept(text):
        return text
    digits = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{cleaned(text)[: NAME - _DIGITS - 1]}~{digits}"
