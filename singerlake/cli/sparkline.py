"""Arrivals in one line of text."""

from __future__ import annotations

from datetime import timedelta

from singerlake.cli.console import moment, number
from singerlake.lake.arrivals import Arrivals

BARS = "▁▂▃▄▅▆▇█"
BUCKETS = 60
"""As many as fit on every screen."""

_UNITS = (
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
)


def sparkline(values: tuple[int, ...]) -> str:
    """A bar for each value, the highest for the largest; a blank for none at all."""
    most = max(values, default=0)
    return "".join(BARS[(len(BARS) - 1) * value // most] if value else " " for value in values)


def legend(found: Arrivals) -> str:
    """What the line shows: from when, how long a bar is, and the largest."""
    unit, name = next((unit, name) for unit, name in _UNITS if found.width % unit == timedelta(0))
    count = found.width // unit
    article = "an" if name == "hour" else "a"
    each = f"{article} {name}" if count == 1 else f"{count} {name}s"
    return (
        f"records by commit time, from {moment(found.start)} UTC, {each} each, "
        f"at most {number(max(found.records))}"
    )
