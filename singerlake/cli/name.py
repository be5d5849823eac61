"""Names and messages on a screen: they come from taps and stores, and may be hostile.

A terminal obeys escape sequences, a line feed breaks a table, and rich runs markup. So whatever
we did not write ourselves goes through `shown`.
"""

from __future__ import annotations

from rich.text import Text


def shown(value: object, style: str = "") -> Text:
    """The value's text for a console: on one line, with all that is not printable escaped.

    That is every control character, the marks that turn the direction of writing, and lone
    surrogates. It is a `Text`, in which rich looks for no markup.
    """
    return Text(plain(value), style=style)


def plain(value: object) -> str:
    """As `shown`, for lines that do not go through rich."""
    text = str(value)
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
