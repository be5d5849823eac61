"""An interval of time, as people write it: `2026-03-01/2026-03-02T12:00`, `2026-03-01/..`."""

from __future__ import annotations

import re
from datetime import timedelta

from singerlake.errors import ConfigError
from singerlake.format import times
from singerlake.index.entry import micros

OPEN = ("", "..")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def parse_interval(text: str) -> tuple[int | None, int | None]:
    """Both ends in microseconds since 1970, both included; None where an end is open.

    A day at the end of an interval is meant whole, and a day alone is the interval of that day.
    Raises `ConfigError`.
    """
    first, slash, last = text.partition("/")
    start = parse_end(first)
    end = parse_end(last if slash else first, last=True)
    if start is not None and end is not None and start > end:
        raise ConfigError(f"expected an interval that ends after its start, found {text!r}")
    return start, end


def parse_end(text: str, last: bool = False) -> int | None:
    """One end of an interval; `last` takes a day as its last microsecond. Raises `ConfigError`."""
    if text in OPEN:
        return None
    try:
        moment = times.parse_time(text)
        if last and _DAY.fullmatch(text):
            return micros(moment) + timedelta(days=1) // timedelta(microseconds=1) - 1
        return micros(moment)
    except (ValueError, OverflowError):
        raise ConfigError(
            f"expected a time such as 2026-03-01 or 2026-03-01T08:00Z, or `..` for an open end, "
            f"found {text!r}"
        ) from None
