"""Parameters of requests: what was asked for, or the problem with it."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import parse_qsl

from singerlake.errors import ConfigError
from singerlake.http.answer import Problem
from singerlake.index.entry import micros
from singerlake.index.interval import parse_interval
from singerlake.index.page import PAGE
from singerlake.index.query import Query
from singerlake.index.summary import By
from singerlake.index.v0.moment import parse_ms
from singerlake.index.v0.slug import from_slug

MOST_FIELDS = 50
LOOKBACK_DAYS = 14
_MOST_DAYS = 4_000_000
"""More days than there are from the year 1 to 9999."""

_INT64 = 2**63 - 1
_WILD = re.compile(r"([*?])")
_BY: tuple[By, ...] = ("day", "run", "stream")


@dataclass(frozen=True)
class FilesRequest:
    query: Query
    cursor: str | None
    limit: int
    counts: bool


def parameters_of(query_string: bytes) -> dict[str, str]:
    """The first value of each name. Raises `Problem`."""
    text = query_string.decode("latin-1")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        message = f"expected at most {MOST_FIELDS} parameters"
        raise Problem(400, "TooManyArgs", message) from None
    found: dict[str, str] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def files_request(given: Mapping[str, str], now: datetime) -> FilesRequest:
    """Which files are asked for. Raises `Problem`."""
    if not given:
        raise Problem(400, "NoArgs", "Please provide minimal query arguments")
    query = _query(given, now, needs_interval=True)
    limit = _number(given, "limit", PAGE, PAGE, "InvalidLimit")
    if limit == 0:
        raise Problem(400, "InvalidLimit", f"limit: expected a number from 1 to {PAGE}")
    counts = given.get("count", "true")
    if counts not in ("true", "false"):
        raise Problem(400, "InvalidCount", "count: expected true or false")
    return FilesRequest(query, given.get("cursor"), limit, counts == "true")


def summary_request(given: Mapping[str, str], now: datetime) -> tuple[Query, By]:
    """What is to be added up, and by what. Raises `Problem`."""
    if not given:
        raise Problem(400, "NoArgs", "Please provide minimal query arguments")
    by = given.get("by", "day")
    if by not in _BY:
        raise Problem(400, "InvalidBy", f"by: expected one of {', '.join(_BY)}")
    return _query(given, now, needs_interval=False), by


def lookback_since(given: Mapping[str, str], now: datetime) -> int | None:
    """The moment that the newest file must not begin before; None where it is before all time.

    Raises `Problem`.
    """
    days = _number(given, "lookback", LOOKBACK_DAYS, _MOST_DAYS, "InvalidLookback", capped=True)
    try:
        return micros(now - timedelta(days=days))
    except OverflowError:
        return None


def _query(given: Mapping[str, str], now: datetime, needs_interval: bool) -> Query:
    if not given.get("what"):
        raise Problem(400, "NoWhat", "You must provide the `what` parameter")
    start, end = _interval(given, now, needs_interval)
    stream, stream_pattern = _name_or_pattern(given["what"])
    tap, tap_pattern = _name_or_pattern(given["where"]) if "where" in given else (None, None)
    work_id = given.get("work_id")
    return Query(
        tap=tap,
        tap_pattern=tap_pattern,
        stream=stream,
        stream_pattern=stream_pattern,
        start=start,
        end=end,
        run_id=None if work_id is None else from_slug(work_id),
        version=_optional(given, "schema_version"),
        min_size=_optional(given, "min_size"),
        max_size=_optional(given, "max_size"),
    )


def _interval(
    given: Mapping[str, str], now: datetime, required: bool
) -> tuple[int | None, int | None]:
    """Both ends in microseconds. A file lies in a millisecond that is asked for where a part of
    that millisecond is its own."""
    named = {name for name in ("work_id", "start", "end", "interval") if name in given}
    if required and not named:
        raise Problem(400, "NoWorkInterval", "You must provide either work_id or start/end")
    kinds = {"time" if name in ("start", "end") else name for name in named}
    if len(kinds) > 1:
        message = "You must provide only work_id or start/end. Not both."
        raise Problem(400, "InvalidWorkInterval", message)
    if "interval" in named:
        try:
            return parse_interval(given["interval"])
        except ConfigError as error:
            raise Problem(400, "InvalidTime", f"interval: {error}") from None
    if "start" not in named and "end" not in named:
        return None, None
    if len(named) == 1:
        message = "start and end must always be provided together."
        raise Problem(400, "InvalidWorkInterval", message)
    start, end = (_ms(given, name, now) for name in ("start", "end"))
    if start > end:
        raise Problem(400, "InvalidWorkInterval", "start must be before end")
    return start * 1000, end * 1000 + 999


def _ms(given: Mapping[str, str], name: str, now: datetime) -> int:
    try:
        return parse_ms(given[name], now)
    except ValueError:
        message = f"{name} must be milliseconds since the epoch, or an ISO time."
        raise Problem(400, "InvalidTime", message) from None


def _name_or_pattern(text: str) -> tuple[str | None, str | None]:
    """The name of a slug; or a pattern, for no slug holds `*` or `?`."""
    if _WILD.search(text) is None:
        return from_slug(text), None
    parts = _WILD.split(text)
    literals = [glob.escape(from_slug(part)) if part else "" for part in parts[::2]]
    wild = [*parts[1::2], ""]
    return None, "".join(a + b for a, b in zip(literals, wild, strict=True))


def _optional(given: Mapping[str, str], name: str) -> int | None:
    return _number(given, name, 0, _INT64, "InvalidNumber") if name in given else None


def _number(
    given: Mapping[str, str], name: str, default: int, most: int, code: str, capped: bool = False
) -> int:
    """A number from 0; what is past the largest is that one where `capped`."""
    text = given.get(name)
    if text is None:
        return default
    digits = text.lstrip("0") or "0"
    if not text.isascii() or not text.isdigit():
        raise Problem(400, code, f"{name} must be a number from 0, not {text[:40]!r}")
    if len(digits) > len(str(most)) or int(digits) > most:
        if capped:
            return most
        raise Problem(400, code, f"{name} must be a number up to {most}")
    return int(digits)
