"""Arrivals: every file counted once, in few buckets of a round width."""

from __future__ import annotations

import tracemalloc
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from singerlake.format.manifest import File
from singerlake.lake.arrivals import WIDTHS, arrivals
from singerlake.lake.snapshot import UNKNOWN

MONDAY = datetime(2026, 11, 16, tzinfo=timezone.utc)


def file(committed: datetime, records: int = 1, size: int = 10) -> File:
    return File(
        path="StxYGwZ/x",
        sequence=1,
        records=records,
        bytes=size,
        raw_bytes=size,
        first=committed,
        last=committed,
        checksum="",
        committed=committed,
    )


TIMES = some.datetimes(
    min_value=datetime(1970, 1, 1),
    max_value=datetime(2200, 1, 1),
    timezones=some.just(timezone.utc),
)


@given(some.lists(some.tuples(TIMES, some.integers(-1, 9)), min_size=1), some.integers(1, 80))
def test_every_file_is_counted_in_its_bucket(
    rows: list[tuple[datetime, int]], buckets: int
) -> None:
    files = [file(*row) for row in rows]
    found = arrivals(files, buckets)
    assert len(found.records) == len(found.files) == len(found.bytes) <= buckets
    expected = [0] * len(found.files)
    for one in files:
        expected[(one.committed - found.start) // found.width] += 1
    assert list(found.files) == expected
    assert sum(found.records) == sum(max(one.records, 0) for one in files)
    assert sum(found.bytes) == sum(one.bytes for one in files)
    assert found.files[0] > 0
    assert found.files[-1] > 0


@given(some.lists(TIMES, min_size=1), some.integers(1, 80))
def test_the_order_of_the_files_does_not_matter(times: list[datetime], buckets: int) -> None:
    files = [file(time) for time in times]
    assert arrivals(files, buckets) == arrivals(reversed(files), buckets)


@given(some.lists(TIMES, min_size=2), some.integers(2, 80))
def test_no_finer_width_would_do(times: list[datetime], buckets: int) -> None:
    found = arrivals(map(file, times), buckets)
    finer = [width for width in WIDTHS if width < found.width]
    for width in finer[-1:]:
        start = datetime.min.replace(tzinfo=timezone.utc)
        indexes = [(time - start) // width for time in times]
        assert max(indexes) - min(indexes) >= buckets


def test_each_width_divides_the_next() -> None:
    for finer, coarser in pairwise(WIDTHS):
        assert coarser % finer == timedelta(0)


@pytest.mark.parametrize(
    ("span", "width"),
    [
        (timedelta(minutes=9), timedelta(minutes=1)),
        (timedelta(hours=9), timedelta(hours=1)),
        (timedelta(days=6), timedelta(days=1)),
        (timedelta(days=60), timedelta(weeks=1)),
    ],
)
def test_buckets_are_as_wide_as_people_count_and_begin_where_they_do(
    span: timedelta, width: timedelta
) -> None:
    late = MONDAY + timedelta(seconds=7)
    found = arrivals([file(late), file(late + span)], 10)
    assert (found.start, found.width) == (MONDAY, width)


def test_no_files_are_no_buckets() -> None:
    assert arrivals([], 10).files == ()


def test_records_that_only_a_manifest_could_count_are_none() -> None:
    assert arrivals([file(MONDAY, UNKNOWN)], 1).records == (0,)


def test_at_least_one_bucket_is_needed() -> None:
    with pytest.raises(ValueError, match="bucket"):
        arrivals([], 0)


def test_many_files_take_the_memory_of_a_few() -> None:
    many = (file(MONDAY + timedelta(hours=hour)) for hour in range(20_000))
    tracemalloc.start()
    found = arrivals(many, 10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(found.files) == 20_000
    assert peak < 100_000
