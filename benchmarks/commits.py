"""Requests and time per commit, in streams of 10, 1,000 and 100,000 files.

Commits are real, by the real writer, of one file of ten records. What stands in the streams
before is made by `benchmarks.streams`. The stream is put back to its size for every round.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from benchmarks import delta
from benchmarks.result import Cell, Goal, Result, Table
from benchmarks.stores import Metered, Place, places
from benchmarks.streams import SIZES, TAP, Made, lines, make
from benchmarks.timing import Samples
from singerlake.format.manifest import FAN_OUT, File
from singerlake.lake import open_on
from singerlake.lake.writer import Writer

ROUNDS = 25
STEADY = 4
SMALLEST, LARGEST = SIZES[0], SIZES[-1]
MOST_REQUESTS, MOST_RATIO = 8, 1.5
MOST_ON_AVERAGE = 5 + 0.03
"""A hundredth of the commits sends three more: for a segment, and for the copy of the manifest."""
MOST_AT_END = 3
"""PUTs at the end of a run: its document, its row, and the markers of its streams."""

FIRST, STEADILY, SEALING, LIMIT = "first of a writer", "steady", "that seals", "limit"
KINDS = (STEADILY, SEALING, FIRST)


@dataclass
class _Counted:
    """Requests of one kind of commit in one size of stream."""

    calls: list[dict[str, int]] = field(default_factory=list)
    wire: list[int] = field(default_factory=list)
    lists: int = 0

    @property
    def totals(self) -> list[int]:
        return [sum(calls.values()) for calls in self.calls]


@dataclass
class _Measured:
    """Everything about one store."""

    samples: Samples = field(default_factory=Samples)
    counted: dict[tuple[int, str], _Counted] = field(default_factory=dict)
    manifest_bytes: dict[int, int] = field(default_factory=dict)
    puts_at_end: int = 0
    new_process: int | None = None


def run() -> Result:
    tables, goals, notes = [], [], []
    with places() as measured_places:
        for place in measured_places:
            found = _measure(place)
            tables.append(_requests_table(place, found))
            tables.append(_times_table(place, found))
            goals += _goals(place, found)
            if found.new_process is not None:
                notes.append(
                    f"{place.name}: the first commit of a new process sends {found.new_process} "
                    "requests: one opens the lake, and six try which conditions the server keeps."
                )
            try:
                tables.append(_peer_table(place, found))
            except delta.Skipped as error:
                notes.append(f"{place.name}: no comparison with a peer: {error}.")
    notes.append(
        "The streams' logs and segments are real; the data objects of their first files are not "
        "there, as no commit reads one."
    )
    notes.append(f"One commit in {FAN_OUT} seals; a stream of {SMALLEST} files has none to seal.")
    return Result(tables, goals, notes)


def _measure(place: Place) -> _Measured:
    """Rounds over all sizes in turn, so that a busy moment falls on none of them alone."""
    found = _Measured()
    # The last of the round's commits, but for the one that seals, brings the stream to its size.
    made = {size: make(place.store, f"orders-{size}", size - 1 - STEADY) for size in SIZES}
    numbers = itertools.count()
    limits = {size: _Limit(place, size) for size in SIZES}
    with open_on(place.store, create=True).writer(TAP) as writer:
        for one in made.values():  # the catalogue knows the streams, as it would
            writer.write(lines(one.keys.stream, 0)[0])
    for _, size in itertools.product(range(ROUNDS), SIZES):
        made[size].restore(place.store)
        _round(place, made[size], size, numbers, found)
        for _ in range(STEADY):
            limits[size].take(found)
    found.puts_at_end = _puts_at_end(place, numbers)
    if place.wire is not None:
        made[LARGEST].restore(place.store)
        store, wire = place.reopen()
        with open_on(store).writer(TAP) as writer:
            _commit(writer, lines(made[LARGEST].keys.stream, next(numbers)))
        found.new_process = wire.total if wire else None
    return found


def _round(place: Place, made: Made, size: int, numbers: Iterator[int], found: _Measured) -> None:
    store = Metered(place.store)
    with open_on(store).writer(TAP) as writer:
        kinds = [FIRST, *[STEADILY] * STEADY]
        if size > SMALLEST:
            kinds.append(SEALING)
        for kind in kinds:
            messages = lines(made.keys.stream, next(numbers))
            store.reset()
            sent = place.wire.total if place.wire else 0
            (file,) = found.samples.time((size, kind), partial(_commit, writer, messages))
            counted = found.counted.setdefault((size, kind), _Counted())
            counted.calls.append(store.requests)
            counted.lists += store.lists
            if place.wire:
                counted.wire.append(place.wire.total - sent)
            if kind == STEADILY and file.sequence == size:
                data = place.store.read(made.keys.manifest).data
                found.manifest_bytes[size] = len(data)


def _puts_at_end(place: Place, numbers: Iterator[int]) -> int:
    """Of a run that is not the tap's or the stream's first: those have more to tell."""
    store = Metered(place.store)
    for _ in range(2):
        with open_on(store).writer(TAP) as writer:
            _commit(writer, lines("ended", next(numbers)))
        store.reset()
        writer.end("complete")
    return sum(store.requests.get(kind, 0) for kind in ("create", "replace"))


class _Limit:
    """A commit's store calls with its sizes, and nothing else: no commit can be faster."""

    def __init__(self, place: Place, size: int) -> None:
        self._store, self._size = place.store, size
        self._folder = f"limit/{size}"
        self._version = ""
        self._numbers = itertools.count()

    def take(self, found: _Measured) -> None:
        number = next(self._numbers)
        manifest = str(number).encode().ljust(found.manifest_bytes[self._size], b" ")
        if not self._version:
            self._version = self._store.create(f"{self._folder}/manifest", manifest + b".")
        lock, file = str(number).encode().ljust(150), str(number).encode().ljust(400)

        def calls() -> None:
            self._store.create(f"{self._folder}/hash/lock", lock)
            held = self._store.read(f"{self._folder}/hash/lock").version
            self._store.create(f"{self._folder}/hash/{number}", file)
            self._version = self._store.replace(f"{self._folder}/manifest", manifest, self._version)
            self._store.delete_if(f"{self._folder}/hash/lock", held)

        found.samples.time((self._size, LIMIT), calls)


def _commit(writer: Writer, messages: list[bytes]) -> tuple[File, ...]:
    for line in messages:
        writer.write(line)
    return writer.commit()


def _requests_table(place: Place, found: _Measured) -> Table:
    rows: list[list[Cell]] = []
    for kind, size in itertools.product(KINDS, SIZES):
        counted = found.counted.get((size, kind))
        if counted is None:
            continue
        largest = max(counted.calls, key=lambda calls: sum(calls.values()))
        calls = ", ".join(f"{name} {count}" for name, count in sorted(largest.items()))
        rows.append(
            [
                kind,
                calls,
                size,
                max(counted.totals),
                statistics.median_high(counted.totals),
                max(counted.wire) if counted.wire else None,
                counted.lists,
            ]
        )
    columns = ("commit", "calls", "files", "most", "median", "most sent", "LIST")
    return Table(f"Requests per commit, {place.name}", columns, rows, text_columns=2)


def _times_table(place: Place, found: _Measured) -> Table:
    samples = found.samples
    rows: list[list[Cell]] = []
    for kind, size in itertools.product(KINDS, SIZES):
        if (size, kind) not in samples:
            continue
        best, limit = samples.best((size, kind)), samples.best((size, LIMIT))
        smallest = samples.best((SMALLEST, kind if kind == FIRST else STEADILY))
        rows.append(
            [
                kind,
                size,
                found.manifest_bytes[size],
                1000 * best,
                1000 * samples.median((size, kind)),
                best / smallest,
                1000 * limit,
                best / limit,
            ]
        )
    columns = (
        "commit",
        "files",
        "manifest, bytes",
        "best, ms",
        "median, ms",
        f"ratio to {SMALLEST} files",
        "bare calls, ms",
        "ratio to bare calls",
    )
    return Table(f"Time per commit, {place.name}", columns, rows)


def _peer_table(place: Place, found: _Measured) -> Table:
    peer = delta.measure(place.peer_url, place.peer_options)
    rows: list[list[Cell]] = []
    for kind, key in ((STEADILY, "steady"), (FIRST, "first")):
        for size in delta.SIZES:
            theirs = {int(n): row for n, row in peer["commits"].items()}
            ours = found.samples.best((size, kind))
            rows.append(
                [
                    kind,
                    size,
                    1000 * theirs[size][key],
                    theirs[size][key] / theirs[SMALLEST][key],
                    1000 * ours,
                    ours / found.samples.best((SMALLEST, kind)),
                    ours / theirs[size][key],
                ]
            )
    columns = (
        "commit",
        "files",
        "peer, ms",
        f"its ratio to {SMALLEST}",
        "ours, ms",
        f"our ratio to {SMALLEST}",
        "ours / peer",
    )
    title = f"Next to {delta.NAME} {peer['version']}, {place.name}, best times"
    return Table(title, columns, rows)


def _goals(place: Place, found: _Measured) -> list[Goal]:
    in_stream = [
        (kind, size)
        for kind in (STEADILY, SEALING)
        for size in SIZES
        if (size, kind) in found.counted
    ]
    most = max(
        max(found.counted[size, kind].totals + found.counted[size, kind].wire)
        for kind, size in in_stream
    )
    requests = {kind: max(found.counted[LARGEST, kind].totals) for kind in (STEADILY, SEALING)}
    on_average = ((FAN_OUT - 1) * requests[STEADILY] + requests[SEALING]) / FAN_OUT
    spread = [max(found.counted[size, STEADILY].totals) for size in SIZES]
    samples = found.samples
    steady, smallest = samples.best((LARGEST, STEADILY)), samples.best((SMALLEST, STEADILY))
    average = ((FAN_OUT - 1) * steady + samples.best((LARGEST, SEALING))) / FAN_OUT
    return [
        Goal(f"{place.name}: requests of any commit, lock included", most, MOST_REQUESTS),
        Goal(
            f"{place.name}: requests of a commit, over {FAN_OUT} of them",
            on_average,
            MOST_ON_AVERAGE,
        ),
        Goal(f"{place.name}: PUTs of a run's end", found.puts_at_end, MOST_AT_END),
        Goal(f"{place.name}: LIST requests", sum(one.lists for one in found.counted.values()), 0),
        Goal(
            f"{place.name}: requests of a steady commit that {LARGEST:,} files add",
            max(spread) - min(spread),
            0,
        ),
        Goal(
            f"{place.name}: time of a steady commit, {LARGEST:,} files to {SMALLEST}",
            steady / smallest,
            MOST_RATIO,
        ),
        Goal(
            f"{place.name}: the same with its share of the sealing",
            average / smallest,
            MOST_RATIO,
        ),
    ]
