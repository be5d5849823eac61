"""Arrivals: how much was committed when, in few enough steps to draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import chain

from singerlake.format.manifest import File

_MINUTES = (1, 5, 15, 60, 3 * 60, 6 * 60, 12 * 60)
_DAYS = (1, 7, 28, 364)
WIDTHS = (
    *(timedelta(minutes=count) for count in _MINUTES),
    *(timedelta(days=count) for count in _DAYS),
)
"""Each divides the next, so that finer buckets add up to coarser ones."""

ORIGIN = datetime.min.replace(tzinfo=timezone.utc)
"""A Monday at midnight: hours, days and weeks begin where people expect them to."""


@dataclass(frozen=True)
class Arrivals:
    """Sums by commit time. Bucket `i` begins at `start + i * width`; the tuples are equally long.

    Where there were no files, the tuples are empty and `start` means nothing.
    """

    start: datetime
    width: timedelta
    records: tuple[int, ...]
    files: tuple[int, ...]
    bytes: tuple[int, ...]


_Sums = tuple[int, int, int]


def arrivals(files: Iterable[File], buckets: int) -> Arrivals:
    """The files by commit time, in at most `buckets` buckets of the finest width that allows it.

    The files may come in any order. Holds no more than `buckets` sums, however many they are.
    """
    if buckets < 1:
        raise ValueError(f"expected at least one bucket, not {buckets}")
    widths = _widths()
    width = next(widths)
    sums: dict[int, _Sums] = {}
    first, last = 0, -1
    for file in files:
        index = (file.committed - ORIGIN) // width
        # A file that only a listing tells of has an unknown number of records.
        _add(sums, index, (max(file.records, 0), 1, file.bytes))
        first, last = (min(first, index), max(last, index)) if len(sums) > 1 else (index, index)
        while last - first >= buckets:
            coarser = next(widths)
            factor = coarser // width
            sums, width = _merged(sums, factor), coarser
            first, last = first // factor, last // factor
    rows = [sums.get(index, (0, 0, 0)) for index in range(first, last + 1)]
    records, counts, sizes = zip(*rows, strict=True) if rows else ((), (), ())
    return Arrivals(ORIGIN + first * width, width, tuple(records), tuple(counts), tuple(sizes))


def _widths() -> Iterator[timedelta]:
    return chain(WIDTHS, (WIDTHS[-1] * 2**power for power in range(1, 64)))


def _add(sums: dict[int, _Sums], index: int, more: _Sums) -> None:
    records, files, size = sums.get(index, (0, 0, 0))
    sums[index] = (records + more[0], files + more[1], size + more[2])


def _merged(sums: dict[int, _Sums], factor: int) -> dict[int, _Sums]:
    merged: dict[int, _Sums] = {}
    for index, row in sums.items():
        _add(merged, index // factor, row)
    return merged
