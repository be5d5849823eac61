"""Filters on metadata columns, as far as they let whole files be skipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.sql import datasource as spark
from pyspark.sql.datasource import Filter

from singerlake.format.manifest import File
from singerlake.lake.log import Selection

_NEVER = frozenset[str]()
_TICK = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class Chosen:
    """Files to read: a selection, and what it has no word for."""

    selection: Selection
    hashes: frozenset[str] | None = None

    def may_hold(self, file: File) -> bool:
        return self.hashes is None or file.schema_hash in self.hashes

    def narrowed(self, filters: Iterable[Filter]) -> Chosen:
        """The files that may hold a row for which all these filters are true."""
        chosen = self
        for each in filters:
            chosen = _narrow(chosen, each)
        return chosen


def _narrow(chosen: Chosen, each: Filter) -> Chosen:
    attribute = getattr(each, "attribute", None)
    if not isinstance(attribute, tuple) or len(attribute) != 1:
        return chosen
    name, value = attribute[0], getattr(each, "value", None)
    if value is None:
        return chosen
    if name == "_schema_hash":
        return _by_hash(chosen, each, value)
    if name == "_sequence":
        return _by_sequence(chosen, each, value)
    if name == "_time_extracted":
        return _by_time(chosen, each, value)
    return chosen


def _by_hash(chosen: Chosen, each: Filter, value: Any) -> Chosen:
    if isinstance(each, (spark.EqualTo, spark.EqualNullSafe)):
        allowed = frozenset({str(value)})
    elif isinstance(each, spark.In):
        allowed = frozenset(map(str, value))
    else:
        return chosen
    return replace(chosen, hashes=allowed if chosen.hashes is None else chosen.hashes & allowed)


def _by_sequence(chosen: Chosen, each: Filter, value: Any) -> Chosen:
    """`since` is exclusive, `until` inclusive."""
    if isinstance(each, spark.In):
        numbers = [number for number in value if isinstance(number, int)]
        if not numbers:
            return replace(chosen, hashes=_NEVER)
        return _between(chosen, min(numbers) - 1, max(numbers))
    if not isinstance(value, int):
        return chosen
    if isinstance(each, (spark.EqualTo, spark.EqualNullSafe)):
        return _between(chosen, value - 1, value)
    if isinstance(each, spark.GreaterThan):
        return _between(chosen, value, None)
    if isinstance(each, spark.GreaterThanOrEqual):
        return _between(chosen, value - 1, None)
    if isinstance(each, spark.LessThan):
        return _between(chosen, 0, value - 1)
    if isinstance(each, spark.LessThanOrEqual):
        return _between(chosen, 0, value)
    return chosen


def _between(chosen: Chosen, since: int, until: int | None) -> Chosen:
    before = chosen.selection
    ends = [number for number in (before.until, until) if number is not None]
    selection = replace(before, since=max(before.since, since), until=min(ends, default=None))
    return replace(chosen, selection=selection)


def _by_time(chosen: Chosen, each: Filter, value: Any) -> Chosen:
    """`start` is inclusive, `end` exclusive."""
    if isinstance(each, spark.In):
        moments = [m for m in map(_utc, value) if m is not None]
        if len(moments) != len(value):
            return chosen
        return _during(chosen, min(moments), _after(max(moments))) if moments else chosen
    moment = _utc(value)
    if moment is None:
        return chosen
    if isinstance(each, (spark.EqualTo, spark.EqualNullSafe)):
        return _during(chosen, moment, _after(moment))
    if isinstance(each, (spark.GreaterThan, spark.GreaterThanOrEqual)):
        return _during(chosen, moment, None)
    if isinstance(each, spark.LessThan):
        return _during(chosen, None, moment)
    if isinstance(each, spark.LessThanOrEqual):
        return _during(chosen, None, _after(moment))
    return chosen


def _after(moment: datetime) -> datetime | None:
    """The end of a time that holds this moment; none where it is the last one of all."""
    return None if moment > _LAST - _TICK else moment + _TICK


def _during(chosen: Chosen, start: datetime | None, end: datetime | None) -> Chosen:
    before = chosen.selection
    starts = [moment for moment in (before.start, start) if moment is not None]
    ends = [moment for moment in (before.end, end) if moment is not None]
    selection = replace(before, start=max(starts, default=None), end=min(ends, default=None))
    return replace(chosen, selection=selection)


def _utc(value: Any) -> datetime | None:
    if not isinstance(value, datetime):
        return None
    # Spark hands over a moment in its own zone, or, without a zone, in UTC.
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
