"""What somebody may have meant by a name that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from singerlake.format.printable import plain


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this name, whatever the case; None where none is."""
    names = list(known)
    folded = {each.casefold(): each for each in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """To put behind an error or a warning: ` Did you mean 'orders'?`, or nothing."""
    found = nearest(name, known)
    return f" Did you mean '{plain(found)}'?" if found is not None else ""
