"""The entries of a lake as the benchmark of the index has them: 50 taps of 20 streams, one year.

Most files are of minutes; one in 20 is of a day, one in 200 of a month, one in 2,000 of a year.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

from singerlake.index.entry import Entry, EntryIds, own_path

LAKE, LOG, HASH = "6513270e269e4d37b2a74de452e6b438", "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "StxYGwZ"
TAPS, NAMES = 50, 20
MINUTE = 60 * 1_000_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY
BEGIN = 1_767_225_600 * 1_000_000
IN_A_RUN = 20


@dataclass(frozen=True)
class Shape:
    """So many entries over all streams."""

    entries: int

    @property
    def each(self) -> int:
        return max(self.entries // (TAPS * NAMES), 1)

    def streams(self) -> Iterator[tuple[str, str]]:
        for tap in range(TAPS):
            for name in range(NAMES):
                yield f"tap-{tap:02}--meltanolabs", f"orders_{name:02}"

    def of(self, tap: str, stream: str) -> Iterator[Entry]:
        """The entries of one stream, each time the same."""
        chance = random.Random(f"{tap} {stream}")
        ids = EntryIds(LAKE, tap, stream, LOG)
        step = YEAR // self.each
        for number in range(self.each):
            start = BEGIN + number * step + chance.randrange(step)
            end = start + _length(chance)
            digest = hashlib.sha256(f"{tap}{stream}{number}".encode()).hexdigest()
            yield Entry(
                id=ids.id(number + 1),
                tap=tap,
                stream=stream,
                log_id=LOG,
                sequence=number + 1,
                run_id=run_of(tap, number),
                writer_id="loader-7d9f8b6c5d-x2x4q-12345-0a1b2c3d",
                schema_hash=HASH,
                version=1,
                start=start,
                end=end,
                hash=f"sha256:{digest}",
                size=1_500_000 + number,
                records=50_000 + number,
                create_time=end + MINUTE,
                path=own_path(stream, HASH, start, end, ""),
            )


def run_of(tap: str, number: int) -> str:
    return hashlib.sha256(f"{tap} {number // IN_A_RUN}".encode()).hexdigest()[:32]


def _length(chance: random.Random) -> int:
    drawn = chance.random()
    if drawn < 1 / 2000:
        return YEAR
    if drawn < 1 / 200:
        return 30 * DAY
    if drawn < 1 / 20:
        return DAY
    return chance.randrange(10 * MINUTE)
