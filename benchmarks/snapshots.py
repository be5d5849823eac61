"""Requests, bytes and time to open a snapshot and select files, of 10 to 100,000 files.

The files' times are spread over a year. A selection is held against what it needs: the manifest,
and those segments that hold a selected file or lead to one, found here from the whole list.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from benchmarks import delta
from benchmarks.result import Cell, Goal, Result, Table
from benchmarks.stores import LOCAL, Delayed, Metered, Place, places
from benchmarks.streams import END, SIZES, TAP, YEAR, Made, make
from benchmarks.timing import Samples
from singerlake.format.manifest import FAN_OUT, File
from singerlake.lake import Selection, open_on
from singerlake.lake.lake import Stream
from singerlake.store import Store

ROUNDS = 15
FAR_ROUNDS = 5
NEWEST = 5
FAR_SECONDS = 0.02
FAR = f"{LOCAL}, with {1000 * FAR_SECONDS:.0f} ms a request, as to a cloud"
HOUR = timedelta(hours=1)
SMALLEST, LARGEST = SIZES[0], SIZES[-1]

OPEN, LAST_HOUR, OLD_HOUR = "open", "last hour", "an hour, half a year ago"
FEED, EVERYTHING = f"the newest {NEWEST} commits", "everything"


@dataclass(frozen=True)
class _Case:
    """A way to use a snapshot, and the files that it must give."""

    name: str
    use: Callable[[Stream], list[File]]
    wants: Callable[[File, int], bool]


@dataclass
class _Measured:
    """Everything about one store."""

    samples: Samples = field(default_factory=Samples)
    calls: dict[tuple[int, str], dict[str, int]] = field(default_factory=dict)
    lists: int = 0
    wire: dict[tuple[int, str], int] = field(default_factory=dict)
    bytes: dict[tuple[int, str], int] = field(default_factory=dict)
    files: dict[tuple[int, str], int] = field(default_factory=dict)
    needed: dict[tuple[int, str], int] = field(default_factory=dict)

    def requests(self, size: int, case: str) -> int:
        return sum(self.calls[size, case].values())


def run() -> Result:
    tables, goals, notes = [], [], []
    with places() as measured_places:
        for place in measured_places:
            made = {size: make(place.store, f"orders-{size}", size) for size in SIZES}
            found = _measure(place, made, ROUNDS)
            tables.append(_table(place, found))
            goals += _goals(place, found)
            try:
                tables.append(_peer_table(place, found))
            except delta.Skipped as error:
                notes.append(f"{place.name}: no comparison with a peer: {error}.")
            if place.name == LOCAL:
                far = replace(place, name=FAR, store=Delayed(place.store, FAR_SECONDS))
                tables.append(_table(far, _measure(far, made, FAR_ROUNDS)))
    notes += [
        "Selections include opening the snapshot. The bare reads are GETs of the same objects, "
        "one after the other, with nothing done to what they give.",
        "The logs and segments are real; the data objects are not there, as no selection of "
        "files reads one.",
        f"A listing of {LARGEST:,} files, which a snapshot replaces, takes {LARGEST // 1000} "
        "LIST requests of a thousand keys on S3.",
    ]
    return Result(tables, goals, notes)


def _cases() -> list[_Case]:
    half = END - YEAR / 2
    return [
        _Case(OPEN, _open, lambda file, last: False),
        _by_time(LAST_HOUR, END - HOUR, None),
        _by_time(OLD_HOUR, half, half + HOUR),
        _Case(FEED, _newest, lambda file, last: file.sequence > last - NEWEST),
        _Case(EVERYTHING, lambda stream: list(stream.snapshot().files()), lambda file, last: True),
    ]


def _open(stream: Stream) -> list[File]:
    stream.snapshot()
    return []


def _by_time(name: str, start: datetime, end: datetime | None) -> _Case:
    selection = Selection(start=start, end=end)
    return _Case(
        name,
        lambda stream: list(stream.snapshot().files(selection)),
        lambda file, last: file.last >= start and (end is None or file.first < end),
    )


def _newest(stream: Stream) -> list[File]:
    snapshot = stream.snapshot()
    return list(snapshot.files(Selection(since=snapshot.manifest.last_sequence - NEWEST)))


def _measure(place: Place, made: dict[int, Made], rounds: int) -> _Measured:
    """Rounds over all sizes in turn, so that a busy moment falls on none of them alone."""
    found = _Measured()
    store = Metered(place.store)
    lake = open_on(store, create=True)
    for number, case, size in itertools.product(range(rounds), _cases(), SIZES):
        if number >= rounds // 5 and case.name == EVERYTHING and size == LARGEST:
            continue  # it takes seconds
        at = size, case.name
        stream = lake.stream(TAP, made[size].keys.stream)
        store.reset()
        sent = place.wire.total if place.wire else 0
        files = found.samples.time(at, partial(case.use, stream))
        if place.wire:
            found.wire[at] = place.wire.total - sent
        found.lists += store.lists
        found.calls[at], found.bytes[at] = store.requests, store.bytes_read
        found.files[at] = len(files)
        found.samples.time((*at, "bare"), partial(_read_all, place.store, store.keys_read))
        if number == 0:
            _verify(made[size], case, files, found)
    return found


def _read_all(store: Store, keys: Iterable[str]) -> None:
    for key in keys:
        store.read(key)


def _verify(made: Made, case: _Case, files: list[File], found: _Measured) -> None:
    """Require that these are the files that a look at every entry gives; count what they need."""
    size = len(made.files)
    wanted = [file for file in made.files if case.wants(file, size)]
    if [file.path for file in files] != [file.path for file in wanted]:
        raise AssertionError(f"{case.name} of {size} files gave the wrong files")
    sealed = size - len(made.manifest.files)
    numbers = [file.sequence for file in wanted if file.sequence <= sealed]
    needed = {(number - 1) // FAN_OUT for number in numbers}  # at level 1, in order
    above = {
        segment.path
        for segment in made.manifest.segments
        if segment.level > 1
        and any(segment.first_sequence <= n <= segment.last_sequence for n in numbers)
    }
    found.needed[size, case.name] = 1 + len(needed) + len(above)


def _table(place: Place, found: _Measured) -> Table:
    rows: list[list[Cell]] = []
    for case, size in itertools.product(_cases(), SIZES):
        at = size, case.name
        best, bare = found.samples.best(at), found.samples.best((*at, "bare"))
        rows.append(
            [
                case.name,
                size,
                found.files[at],
                found.requests(*at),
                found.needed[at],
                found.wire.get(at),
                found.bytes[at],
                1000 * best,
                1000 * bare,
                best / bare,
            ]
        )
    columns = (
        "snapshot",
        "files",
        "selected",
        "requests",
        "needed",
        "sent",
        "bytes read",
        "best, ms",
        "bare reads, ms",
        "ratio to bare reads",
    )
    return Table(f"Snapshots, {place.name}", columns, rows)


def _peer_table(place: Place, found: _Measured) -> Table:
    peer = delta.measure(place.peer_url, place.peer_options)
    rows: list[list[Cell]] = []
    for size in delta.SIZES:
        theirs: float = peer["commits"][str(size)]["open"]
        ours = found.samples.best((size, EVERYTHING))
        rows.append([EVERYTHING, size, 1000 * theirs, 1000 * ours, ours / theirs])
    columns = ("snapshot", "files", "peer, ms", "ours, ms", "ours / peer")
    title = f"Next to {delta.NAME} {peer['version']}, {place.name}: open, and name every file"
    return Table(title, columns, rows)


def _goals(place: Place, found: _Measured) -> list[Goal]:
    surplus = max(
        found.requests(size, case.name) - found.needed[size, case.name]
        for case, size in itertools.product(_cases(), SIZES)
    )
    opening = max(
        max(found.requests(size, OPEN), found.wire.get((size, OPEN), 0)) for size in SIZES
    )
    return [
        Goal(f"{place.name}: requests to open a snapshot", opening, 1),
        Goal(
            f"{place.name}: requests for the last hour of {LARGEST:,} files",
            found.requests(LARGEST, LAST_HOUR),
            found.needed[LARGEST, LAST_HOUR],
        ),
        Goal(f"{place.name}: objects that any selection reads without need", surplus, 0),
        Goal(f"{place.name}: LIST requests", found.lists, 0),
    ]
