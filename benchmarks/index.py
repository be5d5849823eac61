"""An index of 10^6 files: its questions, size, ingest and rebuild, beside other designs.

SINGERLAKE_INDEX_ENTRIES=10000000 asks for 10^7. The peers are a row for each day that a file has,
as the datalake has it, and DuckDB; they are measured up to 10^6.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import index_rebuild
from benchmarks.http import index_api
from benchmarks.index_entries import BEGIN, DAY, LAKE, LOG, NAMES, TAPS, YEAR, Shape, run_of
from benchmarks.index_peers import Columns, DayRows
from benchmarks.result import Cell, Goal, Result, Table
from singerlake.index.entry import Entry
from singerlake.index.open import open_index
from singerlake.index.parquet import write_parquet
from singerlake.index.query import Query
from singerlake.index.storage.base import Storage
from singerlake.lake.feed.bookmark import Bookmark

VARIABLE = "SINGERLAKE_INDEX_ENTRIES"
ASKED = 400
"""Questions of each kind; of the peers a quarter."""

MOST_OF_PEERS = 1_000_000
IN_A_CHANGE = 1_000
MOST_REBUILT = 1_000_000

MOST_IDLE = 2.2
"""Seconds of CPU that a HEAD for each of 1,000 streams took."""

MOST_MS, MOST_BYTES, LEAST_INGEST, MOST_REBUILD, MOST_MEMORY = 5.0, 300, 25_000, 60.0, 300

Ask = Callable[[Query], Any]


def run() -> Result:
    shape = Shape(int(os.environ.get(VARIABLE, "1000000")))
    with tempfile.TemporaryDirectory(prefix="index-") as name:
        folder = Path(name)
        storage = open_index(f"sqlite:///{folder}/index.db")
        rate = _ingest(storage, shape)
        size = _size(storage, folder / "index.db") / (shape.each * TAPS * NAMES)
        times = {"interval tables": _asked(lambda query: storage.page(query), shape, ASKED)}
        times |= _others(storage, shape)
        peers: list[list[Cell]] = []
        if shape.entries <= MOST_OF_PEERS:
            peers = _peers(storage, shape, folder, times)
        storage.close()
        over_http = index_api(f"{folder}/index.db", shape.entries)
        rebuilt = _rebuilt(Shape(min(shape.entries, MOST_REBUILT)), folder)
    questions = [
        [kind, question, *_percentiles(taken)]
        for kind, by_question in times.items()
        for question, taken in by_question.items()
    ]
    stored: list[list[Cell]] = [["interval tables", shape.entries, size, rate], *peers]
    ours = [_percentiles(taken)[1] for taken in times["interval tables"].values()]
    goals = [
        Goal("p99 of the slowest question, ms of CPU", max(ours), MOST_MS),
        Goal("bytes for each entry", size, MOST_BYTES),
        Goal("entries indexed in a second of CPU", rate, LEAST_INGEST, at_least=True),
        Goal(f"rebuild of {rebuilt['entries']:,.0f} files, s of CPU", rebuilt["cpu"], MOST_REBUILD),
        Goal("peak memory of the rebuild, MB", rebuilt["peak"], MOST_MEMORY),
        Goal(f"idle poll of {TAPS * NAMES:,} streams, s of CPU", rebuilt["idle"], MOST_IDLE),
    ]
    columns = ("storage", "question", "p50, ms", "p99, ms")
    tables = [
        Table(f"A page of 100, {shape.entries:,} entries", columns, questions, text_columns=2),
        Table("Stored", ("storage", "entries", "bytes each", "entries/s"), stored),
        over_http,
    ]
    notes = [
        f"{TAPS} taps of {NAMES} streams, one year. Times are CPU of the process that asks, and of "
        f"{ASKED} random questions of each kind. Ingest is by changes of {IN_A_CHANGE:,} entries.",
        "Over HTTP: one connection on 127.0.0.1, one request at a time; CPU is that of the server.",
        "A rebuild reads manifests and segments that the format's own functions made.",
    ]
    return Result(tables, goals, notes)


def _ingest(storage: Storage, shape: Shape) -> float:
    """Entries in a second of CPU, without the time to make them."""
    storage.bind(LAKE)
    spent, count = 0.0, 0
    for tap, stream in shape.streams():
        for batch in _batches(shape.of(tap, stream)):
            began = time.process_time()
            with storage.change(tap, stream) as change:
                change.add(batch)
                change.keep(Bookmark(LOG, batch[-1].sequence))
            spent += time.process_time() - began
            count += len(batch)
    return count / spent


def _batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) == IN_A_CHANGE:
            yield batch
            batch = []
    if batch:
        yield batch


def _size(storage: Storage, path: Path) -> int:
    storage.close()  # the last connection moves the log into the file
    return path.stat().st_size


def _questions(shape: Shape) -> dict[str, Callable[[random.Random], Query]]:
    def where(chance: random.Random) -> tuple[str, str]:
        return (
            f"tap-{chance.randrange(TAPS):02}--meltanolabs",
            f"orders_{chance.randrange(NAMES):02}",
        )

    def within(chance: random.Random, length: int) -> dict[str, int]:
        start = BEGIN + chance.randrange(YEAR)
        return {"start": start, "end": start + length}

    def by_run(chance: random.Random) -> tuple[str, str, str]:
        tap, stream = where(chance)
        return tap, stream, run_of(tap, chance.randrange(shape.each))

    def stream_day(chance: random.Random) -> Query:
        tap, stream = where(chance)
        return Query(tap=tap, stream=stream, **within(chance, DAY))

    def name_for(length: int) -> Callable[[random.Random], Query]:
        return lambda chance: Query(stream=where(chance)[1], **within(chance, length))

    def stream_run(chance: random.Random) -> Query:
        tap, stream, run = by_run(chance)
        return Query(tap=tap, stream=stream, run_id=run)

    def name_run(chance: random.Random) -> Query:
        _, stream, run = by_run(chance)
        return Query(stream=stream, run_id=run)

    return {
        "what + where, a day": stream_day,
        "what, a day": name_for(DAY),
        "what, 30 days": name_for(30 * DAY),
        "what, 1 s": name_for(1_000_000),
        "what + where + run": stream_run,
        "what + run": name_run,
    }


def _asked(ask: Ask, shape: Shape, count: int) -> dict[str, list[float]]:
    """Milliseconds of CPU of each question, by kind."""
    found: dict[str, list[float]] = {}
    for kind, make in _questions(shape).items():
        chance = random.Random(kind)
        for number in range(count + 5):
            query = make(chance)
            began = time.process_time()
            ask(query)
            if number >= 5:
                found.setdefault(kind, []).append(1000 * (time.process_time() - began))
    return found


def _others(storage: Storage, shape: Shape) -> dict[str, dict[str, list[float]]]:
    """Questions that are not among the four."""
    chance, taken = random.Random(1), {"latest": [], "by id": [], "count, a day": []}
    streams = list(shape.streams())
    for _ in range(ASKED):
        tap, stream = chance.choice(streams)
        (entry,) = storage.page(Query(tap=tap, stream=stream), limit=1)
        day = Query(stream=stream, start=entry.start, end=entry.start + DAY)
        for kind, ask in (
            ("latest", lambda: storage.latest(entry.tap, entry.stream)),  # noqa: B023
            ("by id", lambda: storage.by_id(entry.id)),  # noqa: B023
            ("count, a day", lambda: storage.count(day)),  # noqa: B023
        ):
            began = time.process_time()
            ask()
            taken[kind].append(1000 * (time.process_time() - began))
    return {"interval tables, other questions": taken}


def _peers(
    storage: Storage, shape: Shape, folder: Path, times: dict[str, dict[str, list[float]]]
) -> list[list[Cell]]:
    """The same entries elsewhere; returns what they take."""
    rows, spent, count = DayRows(folder / "days.db"), 0.0, 0
    for tap, stream in shape.streams():
        for batch in _batches(shape.of(tap, stream)):
            began = time.process_time()
            rows.add(batch)
            spent += time.process_time() - began
            count += len(batch)
    times["a row for each day"] = _asked(rows.ask, shape, ASKED // 4)
    rows.close()
    days: list[Cell] = [
        "a row for each day",
        count,
        rows.path.stat().st_size / count,
        count / spent,
    ]
    parquet = folder / "entries.parquet"
    write_parquet(storage, parquet)
    columns = Columns(folder / "entries.duckdb")
    columns.load(parquet)
    times["DuckDB"] = _asked(columns.ask, shape, ASKED // 4)
    columns.close()
    return [
        days,
        ["DuckDB", count, columns.path.stat().st_size / count, None],
        ["Parquet (an export)", count, parquet.stat().st_size / count, None],
    ]


def _rebuilt(shape: Shape, folder: Path) -> dict[str, float]:
    index_rebuild.make_lake(folder / "lake", shape)
    return index_rebuild.measure(folder / "lake", folder / "rebuilt.db")


def _percentiles(taken: list[float]) -> tuple[float, float]:
    ordered = sorted(taken)
    return ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
