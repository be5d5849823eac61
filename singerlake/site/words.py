"""Numbers, times and names, as people read them."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Control characters but for line ends and tabs, half characters, and what turns the reading
direction: a name could pass for another with it."""

_STEPS = (
    (timedelta(days=1), "day", "days"),
    (timedelta(hours=1), "hour", "hours"),
    (timedelta(minutes=1), "minute", "minutes"),
)


def fragment(text: str) -> str:
    """A text behind the # of a link."""
    return quote(visible(text), safe="")


def count(number: int) -> str:
    return f"{number:,}"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 file`, `1,204 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def short(number: float) -> str:
    """`1.2M`: for an axis, where there is no room for all digits."""
    for unit in ("", "k", "M", "B"):
        if abs(number) < 1000:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:,.3g}T"


def size(number: float) -> str:
    """`1.5 MB`, in decimal units as stores bill them."""
    if number < 1000:
        return f"{number:.0f} B"
    for unit in ("kB", "MB", "GB"):
        number /= 1000
        if number < 1000:
            return f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"
    return f"{number / 1000:,.1f} TB"


def moment(value: datetime) -> str:
    """`2026-11-01 08:00 UTC`."""
    return f"{_utc(value):%Y-%m-%d %H:%M} UTC"


def machine(value: datetime) -> str:
    """The form that browsers read."""
    return f"{_utc(value):%Y-%m-%dT%H:%M:%SZ}"


def _utc(value: datetime) -> datetime:
    return value.astimezone(timezone.utc)


def span(width: timedelta) -> str:
    """`day`, `3 hours`: the width of a step in time."""
    for unit, one, many in _STEPS:
        if width >= unit and width % unit == timedelta(0):
            number = width // unit
            return one if number == 1 else f"{number:,} {many}"
    return str(width)


def visible(text: str) -> str:
    """The text with what cannot be seen, or misleads the eye, written out as `\\x00`.

    Line ends and tabs stay: pages show them as white space.
    """
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def plain(value: Any) -> str:
    """Any value of a JSON document as text."""
    return visible(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
