"""Many writers for ten minutes, 32 on 32 streams beside 8 on one, on a real S3 server.

Every writer is a process that commits a hundred records, and then the next hundred at once. So
the server, which runs on the same machine, is always as busy as it can be: latencies are those of
a full queue. LOAD_SECONDS says how long it takes; 600 is what the page shows.
"""

from __future__ import annotations

import gc
import json
import math
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from benchmarks.plot import Panel, Series, draw
from benchmarks.result import Cell, Goal, Result, Table
from singerlake.errors import AlreadyExists, Changed, SingerlakeError, Unavailable
from singerlake.lake import Level, check, open_on
from singerlake.store import Listed, Retrying, Store, Stored, StoreWrapper, open_store
from singerlake.store.s3 import S3Store
from tests.servers import S3Server, run_seaweedfs

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
SECONDS = float(os.environ.get("LOAD_SECONDS", "30"))
RECORDS = 100
TAP = "tap-load--here"
POINTS = 60
"""In a line of the plot."""

READY = 5.0
"""Seconds that all processes have for their start."""

MEGA = 1_000_000

Answer = TypeVar("Answer")

fork = multiprocessing.get_context("forkserver")
fork.set_forkserver_preload([__name__])


@dataclass(frozen=True)
class Load:
    name: str
    writers: int
    streams: int


LOADS = (Load("32 writers on 32 streams", 32, 32), Load("8 writers on one stream", 8, 1))


@dataclass
class Told:
    """What one writer tells at its end."""

    commits: list[tuple[float, float]] = field(default_factory=list)
    """Of each the moment of its end, since the load began, and the seconds it took."""

    counts: dict[str, int] = field(default_factory=dict)
    error: str = ""


@dataclass
class Found:
    """What came of a load."""

    load: Load
    told: list[Told]
    memory: list[tuple[float, float]]
    """Megabytes of all writers together, by the moment."""

    missing: int
    errors: int

    @property
    def latencies(self) -> list[float]:
        return sorted(seconds for one in self.told for _, seconds in one.commits)

    @property
    def seconds(self) -> float:
        return max(moment for one in self.told for moment, _ in one.commits)

    def count(self, name: str) -> int:
        return sum(one.counts.get(name, 0) for one in self.told)


class Noting(StoreWrapper):
    """Below the retries: counts what the store refused, and every request without an answer."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def read(self, key: str) -> Stored:
        return self._noted(key, lambda: self.inner.read(key))

    def version(self, key: str) -> str:
        return self._noted(key, lambda: self.inner.version(key))

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        return self._noted(key, lambda: self.inner.open(key, size))

    def create(self, key: str, data: bytes | Path) -> str:
        return self._noted(key, lambda: self.inner.create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._noted(key, lambda: self.inner.replace(key, data, version))

    def delete(self, key: str) -> None:
        self._noted(key, lambda: self.inner.delete(key))

    def delete_if(self, key: str, version: str) -> None:
        self._noted(key, lambda: self.inner.delete_if(key, version))

    def folders(self, prefix: str) -> list[str]:
        return self._noted(prefix, lambda: self.inner.folders(prefix))

    def list(self, prefix: str) -> Iterator[Listed]:
        return iter(self._noted(prefix, lambda: [*self.inner.list(prefix)]))

    def _noted(self, key: str, call: Callable[[], Answer]) -> Answer:
        try:
            return call()
        except SingerlakeError as error:
            kind = "other refusals"
            if isinstance(error, Unavailable):
                kind = "retries"
            elif isinstance(error, Changed) and key.endswith("/manifest.json"):
                kind = "conflicts"
            elif isinstance(error, AlreadyExists) and key.endswith(".lock"):
                kind = "lock refusals"
            with self._lock:
                self.counts[kind] += 1
            raise


def write_until(
    server: S3Server, url: str, number: int, stream: str, begin: float, end: float, path: Path
) -> None:
    """In a process of its own. The moments are those of the machine's monotonic clock."""
    gc.freeze()  # or the collector would write in, and so copy, all that is shared with the parent
    told = Told()
    store = Noting(S3Store(url, server.storage_options()))
    try:
        lake = open_on(Retrying(store), create=True)
        with lake.writer(TAP) as writer:
            writer.write(json.dumps(_schema(stream)).encode())
            time.sleep(max(0.0, begin - time.monotonic()))
            while (started := time.monotonic()) < end:
                first = number * 10**9 + len(told.commits) * RECORDS
                for record in range(first, first + RECORDS):
                    writer.write(_record(stream, record))
                writer.commit()
                now = time.monotonic()
                told.commits.append((now - begin, now - started))
    except SingerlakeError as error:
        told.error = f"{type(error).__name__}: {error}"
    told.counts = dict(store.counts)
    path.write_text(json.dumps(asdict(told)))


def _schema(stream: str) -> dict[str, Any]:
    properties = {"id": {"type": "integer"}, "text": {"type": "string"}}
    return {
        "type": "SCHEMA",
        "stream": stream,
        "schema": {"type": "object", "properties": properties},
        "key_properties": ["id"],
    }


def _record(stream: str, number: int) -> bytes:
    record = {"id": number, "text": f"{number:x}" * 20}
    return json.dumps({"type": "RECORD", "stream": stream, "record": record}).encode()


def run() -> Result:
    with run_seaweedfs() as server, ThreadPoolExecutor(len(LOADS)) as pool:
        found = list(pool.map(lambda load: measure(server, load, SECONDS), LOADS))
    goals = [Goal(f"{one.load.name}: records missing", one.missing, 0) for one in found]
    goals += [Goal(f"{one.load.name}: errors of `check`", one.errors, 0) for one in found]
    failed = sum(bool(told.error) for one in found for told in one.told)
    goals.append(Goal("writers that ended with an error", failed, 0))
    notes = [
        f"A commit is of {RECORDS} records, in one file. Conflicts are manifests that another "
        "writer had changed, and lock refusals the tries to make a lock that another had; both are "
        "tried again by the writer, and retries, after no usable answer, by the store. Latency "
        "is a writer's time from its first record to the end of the commit. Memory is the "
        "proportional set of all writers, divided by their number.",
        f"The server shares the machine's {os.cpu_count()} cores with the writers. Its load was "
        f"{os.getloadavg()[0]:.1f} when this ended.",
    ]
    notes += [told.error for one in found for told in one.told if told.error]
    return Result([_table(found)], goals, notes, {"load.svg": _plot(found)})


def measure(
    server: S3Server, load: Load, seconds: float, write: Callable[..., None] = write_until
) -> Found:
    """`write` is what each process does; a test gives another, to see that it is seen."""
    url = f"s3://{server.new_bucket()}/lake"
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        paths = [Path(folder, str(number)) for number in range(load.writers)]
        begin = time.monotonic() + READY
        processes = [
            fork.Process(
                target=write,
                args=(
                    server,
                    url,
                    number,
                    f"stream_{number % load.streams}",
                    begin,
                    begin + seconds,
                    path,
                ),
            )
            for number, path in enumerate(paths)
        ]
        for process in processes:
            process.start()
        memory = []
        while any(process.is_alive() for process in processes):
            time.sleep(max(0.5, seconds / POINTS))
            now = time.monotonic() - begin
            if 0 < now < seconds:
                memory.append((now, sum(_megabytes(process.pid or 0) for process in processes)))
                print(f"  {load.name}: {now:.0f} s of {seconds:.0f}", file=sys.stderr, flush=True)
        for process in processes:
            process.join()
        told = [Told(**json.loads(path.read_text())) for path in paths]
    return Found(load, told, memory, *_verify(open_store(url, server.storage_options()), told))


def _megabytes(pid: int) -> float:
    """What the process has for itself, and its part of what it shares; 0 once it is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 / MEGA if found else 0.0


def _verify(store: Store, told: Sequence[Told]) -> tuple[int, int]:
    """How many committed records are missing, or there twice; and the errors of a check."""
    lake = open_on(store)
    there: Counter[int] = Counter()
    for stream in lake.tap(TAP).streams():
        there.update(each["id"] for each in stream.snapshot().records())
    wanted = {
        number * 10**9 + at
        for number, one in enumerate(told)
        for at in range(len(one.commits) * RECORDS)
    }
    twice = sum(times - 1 for times in there.values())
    return len(wanted - there.keys()) + twice, len(check(store).of(Level.ERROR))


def _table(found: Sequence[Found]) -> Table:
    rows: list[list[Cell]] = []
    for one in found:
        commits, latencies = len(one.latencies), one.latencies
        percentiles = statistics.quantiles(latencies, n=100, method="inclusive")
        memory = [megabytes / one.load.writers for _, megabytes in one.memory]
        tenth = max(1, len(memory) // 10)
        rows.append(
            [
                one.load.name,
                round(one.seconds),
                commits,
                commits / one.seconds,
                one.count("conflicts"),
                one.count("lock refusals"),
                one.count("retries"),
                percentiles[49],
                percentiles[89],
                percentiles[98],
                latencies[-1],
                statistics.mean(memory[:tenth]),
                statistics.mean(memory[-tenth:]),
                one.missing,
            ]
        )
    columns = [
        "load",
        "seconds",
        "commits",
        "commits/s",
        "conflicts",
        "lock refusals",
        "retries",
        "p50, s",
        "p90, s",
        "p99, s",
        "longest, s",
        "MB/writer, first tenth",
        "last tenth",
        "missing or twice",
    ]
    return Table("Writers that never pause", columns, rows)


def _plot(found: Sequence[Found]) -> str:
    return draw([_panels(one) for one in found])


def _panels(one: Found) -> list[Panel]:
    width = one.seconds / POINTS
    bins: list[list[float]] = [[] for _ in range(POINTS)]
    for told in one.told:
        for moment, seconds in told.commits:
            bins[min(int(moment / width), POINTS - 1)].append(seconds)
    moments = [(number + 0.5) * width for number in range(POINTS)]
    rates = [(at, len(each) / width) for at, each in zip(moments, bins, strict=True)]
    full = [(at, sorted(each)) for at, each in zip(moments, bins, strict=True) if each]
    middle = [(at, statistics.median(each)) for at, each in full]
    slow = [(at, each[math.ceil(0.99 * (len(each) - 1))]) for at, each in full]
    memory = [(at, megabytes / one.load.writers) for at, megabytes in one.memory]
    return [
        Panel(f"{one.load.name}: commits per second", [Series("", rates)]),
        Panel("seconds for a commit", [Series("p99", slow), Series("p50", middle)]),
        Panel("MB of memory for each writer", [Series("", memory)]),
    ]
