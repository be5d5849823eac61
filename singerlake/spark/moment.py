"""Times as taps write them in records: RFC 3339, and what is near to it."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from singerlake.spark.json_text import MISFIT

FORM = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[Tt ](?P<hour>\d\d)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?)?"
    r"(?P<zone>[Zz]|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def parse_time(text: str) -> datetime:
    """A moment in UTC: without a zone it is taken to be UTC, without a time to be midnight.

    More than six digits of a second are rounded, as the lake does (docs/spec.md, Times).
    Raises `ValueError` and `OverflowError`.
    """
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(MISFIT)
    day = date.fromisoformat(found["day"])
    fraction = (found["fraction"] or "")[:7].ljust(7, "0")
    micros = int(fraction[:6]) + (fraction[6] >= "5")
    moment = datetime(
        day.year,
        day.month,
        day.day,
        int(found["hour"] or 0),
        int(found["minute"] or 0),
        int(found["second"] or 0),
        tzinfo=timezone.utc,
    )
    return moment + timedelta(microseconds=micros) - offset_of(found["zone"])


def offset_of(zone: str | None) -> timedelta:
    if zone is None or zone in "Zz":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise ValueError(MISFIT)
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset
