"""Names and messages on a screen: they come from taps and stores, and may be hostile.

A terminal obeys escape sequences, a line feed breaks a table, and rich runs markup. So whatever
we did not write ourselves goes through `shown`.
"""

from __future__ import annotations

from rich.text import Text

from singerlake.format.printable import plain


def shown(value: object, style: str = "") -> Text:
    """The value for a console, `plain`: a `Text`, in which rich looks for no markup."""
    return Text(plain(value), style=style)
