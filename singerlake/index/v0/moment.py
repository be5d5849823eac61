"""Times of the v0 API: milliseconds since 1970, in UTC, and all that is taken for them."""

from __future__ import annotations

import re
from datetime import datetime

from singerlake.format import times
from singerlake.index.entry import micros, moment

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999."""

MOST_SECONDS = 1e11
"""A larger number is one of milliseconds: as seconds it would be past the year 5138."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)


def parse_ms(value: object, now: datetime) -> int:
    """The milliseconds in a number (seconds, or milliseconds if it is large), in its text, in an
    ISO text, or in `now`. Without a zone it is UTC. Raises `ValueError`."""
    if isinstance(value, str):
        text = value.strip()
        if text == "now":
            return to_ms(micros(now))
        if _NUMBER.fullmatch(text) is None:
            return to_ms(_micros_of(text))
        value = float(text) if re.search("[.eE]", text) else int(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("not a time")
    ms = value if value > MOST_SECONDS else value * 1000
    if not EARLIEST <= ms <= LATEST:  # also where it is no number
        raise ValueError("a time outside the years 1 to 9999")
    return int(ms)


def to_ms(microseconds: int) -> int:
    return microseconds // 1000


def iso(ms: int) -> str:
    """`2026-03-01T08:00:00.123`."""
    return moment(ms * 1000).replace(tzinfo=None).isoformat(timespec="milliseconds")


def _micros_of(text: str) -> int:
    try:
        return micros(times.parse_time(text))
    except OverflowError:
        raise ValueError("a time outside the years 1 to 9999") from None
