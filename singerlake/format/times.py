"""Points in time as the lake writes them: always UTC, always to the microsecond."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timezone

_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:\.(\d{6}))?Z", re.ASCII)


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC; a time without a zone is taken to be UTC already."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=timezone.utc)
    return moment.astimezone(timezone.utc)


def require_utc(moments: Iterable[datetime]) -> None:
    """Raises `ValueError` where one of these has a zone, and is no moment in UTC."""
    for moment in moments:
        if moment.tzinfo is timezone.utc:
            continue  # as all that we write
        try:
            in_utc(moment)
        except OverflowError:
            raise ValueError("a time that is outside the years 1 to 9999 in UTC") from None


def rfc3339(moment: datetime) -> str:
    """`2026-11-16T02:54:14.000123Z`: fixed width, so that the text sorts as the time does."""
    return in_utc(moment).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def stamp(moment: datetime) -> str:
    """`20261116T025414.000123Z`, the form that stands in file names."""
    return rfc3339(moment).replace("-", "").replace(":", "")


def parse_stamp(text: str) -> datetime:
    """Read a file name's time; the older form, with whole seconds, is read too.

    Raises `ValueError`.
    """
    match = _STAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time like 20261116T025414.000123Z")
    year, month, day, hour, minute, second, micros = (int(part or 0) for part in match.groups())
    return datetime(year, month, day, hour, minute, second, micros, tzinfo=timezone.utc)
