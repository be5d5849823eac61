"""Text from taps and stores, made harmless: a terminal obeys escape sequences, and a line feed
forges a line of a log."""

from __future__ import annotations


def plain(value: object) -> str:
    """The value's text on one line, with all that is not printable escaped.

    That is every control character, the marks that turn the direction of writing, and lone
    surrogates.
    """
    text = str(value)
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
