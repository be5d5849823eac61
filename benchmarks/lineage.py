"""Events that the lineage proxy takes durably per second, and what each costs.

Next to openlineage-python's own transports, which are not durable, straight to a backend that takes
everything at once; and to the physical limit: the same bytes appended and synced.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import peers
from benchmarks.lineage_load import Measured, event, measure, round_trips, synced_appends
from benchmarks.result import Cell, Goal, Result, Table

SIZES = (2_000, 20_000)
CLIENTS = (1, 64)
EVENTS = {(2_000, 1): 1_000, (2_000, 64): 10_000, (20_000, 1): 500, (20_000, 64): 4_000}
SYNCS = 200
TRIPS = 1_000
BUILD = Path(__file__).parent.parent / "build"
"""On the disk of this checkout: a folder for temporary files may be memory."""

PEERS = ("http", "async_http")
PEER_EVENTS = {1: 300, 64: 1_280}

MOST_PROCESSOR = 250.0
MOST_MEMORY = 80.0
MOST_SYNCS = 1.5


def run() -> Result:
    rows: list[list[Cell]] = []
    goals: list[Goal] = []
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as place, proxy(Path(place)) as (url, pid):
        for size in SIZES:
            for clients in CLIENTS:
                found, syncs = _measured(Path(place), url, pid, size, clients)
                limit = clients / statistics.median(syncs)
                rows.append(_row("proxy", size, clients, found, limit))
                rows.append(_limit_row(size, clients, syncs))
                if size == SIZES[0]:
                    goals += _goals(clients, found, syncs)
        memory = found.memory / 1e6
        rows.append(_trip_row(round_trips(url, pid, TRIPS)))
    goals.append(Goal("memory of the proxy, MB", round(memory, 1), MOST_MEMORY))
    with accepting() as backend:
        rows += [
            _peer(backend, kind, size, clients)
            for size in SIZES
            for clients in CLIENTS
            for kind in PEERS
        ]
    columns = (
        "",
        "bytes",
        "clients",
        "events/s",
        "CPU, µs",
        "p50, ms",
        "p99, ms",
        "MB",
        "of limit",
    )
    return Result([Table("Events taken", columns, rows)], goals, _NOTES)


def _measured(
    folder: Path, url: str, pid: int, size: int, clients: int
) -> tuple[Measured, list[float]]:
    """The limit is measured before and after, for the disk is not ours alone."""
    body = event(size)
    measure(url, pid, body, clients, 10 * clients)  # a first time, which does not count
    syncs = synced_appends(folder, body, clients, SYNCS // 2)
    found = measure(url, pid, body, clients, EVENTS[size, clients])
    return found, syncs + synced_appends(folder, body, clients, SYNCS // 2)


def _row(who: str, size: int, clients: int, found: Measured, limit: float) -> list[Cell]:
    return [
        who,
        size,
        clients,
        round(found.rate),
        round(found.microseconds),
        round(found.percentile(0.5), 2),
        round(found.percentile(0.99), 2),
        round(found.memory / 1e6),
        round(found.rate / limit, 2),
    ]


def _limit_row(size: int, clients: int, syncs: list[float]) -> list[Cell]:
    ordered = sorted(syncs)
    p50, p99 = statistics.median(ordered) * 1000, ordered[int(0.99 * len(ordered))] * 1000
    rate = round(clients * 1000 / p50)
    return ["append and sync", size, clients, rate, None, round(p50, 2), round(p99, 2), None, 1.0]


def _trip_row(found: Measured) -> list[Cell]:
    return ["a round trip without work", 0, *_row("", 0, 1, found, 1.0)[2:-1], None]


def _goals(clients: int, found: Measured, syncs: list[float]) -> list[Goal]:
    name = f"{SIZES[0]:,} bytes, {clients} clients"
    goals = [Goal(f"CPU for an event, µs ({name})", round(found.microseconds), MOST_PROCESSOR)]
    if clients == 1:
        ratio = found.percentile(0.5) / 1000 / statistics.median(syncs)
        goals.append(Goal("p50 of one client, in syncs", round(ratio, 2), MOST_SYNCS))
    return goals


def _peer(url: str, kind: str, size: int, clients: int) -> list[Cell]:
    program = Path(peers.__file__).parent / "openlineage_client.py"
    numbers = map(str, (size, clients, PEER_EVENTS[clients]))
    words = [sys.executable, str(program), url, kind, *numbers]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])
    measured = Measured(found["latencies"], found["sent"], found["processor"], found["memory"])
    row = _row(f"openlineage-python {kind}", size, clients, measured, 1.0)
    return [*row[:-1], None]


@contextmanager
def proxy(folder: Path) -> Iterator[tuple[str, int]]:
    """The proxy as a process. Its backend does not answer: only what it takes is measured."""
    words = ["-m", "singerlake.cli", "lineage", "proxy", "--data", str(folder / "buffer")]
    words += ["--backend", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--json"]
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"], process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def accepting() -> Iterator[str]:
    """A backend that takes everything at once."""
    loop = asyncio.new_event_loop()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


_NOTES = [
    "Every client sends its next event when the last is answered. An answer of the proxy means "
    "that the event is validated, and synced to the disk; an answer of the peers means that a "
    "backend on the same machine took it (http), or that it is in memory (async_http): they "
    "promise less, and are here for the cost to the sender. Their times include building the JSON. "
    "64 clients of a peer are 64 `OpenLineageClient`s on as many threads of one process.",
    "*of limit* is the rate beside that of appending the same bytes to a file, with a sync for as "
    "many events as there are clients. The buffer deflates events, and SQLite writes its log over "
    "itself, which syncs faster than a file that grows: so it may be more than 1.",
    "*A round trip without work* is `HEAD /healthz` by the same client. One that comes alone waits "
    "for such a round trip, for the sync, and for about a tenth of a millisecond, in which its "
    "event is validated, deflated and given to SQLite. So on a disk that syncs faster than two "
    "round trips the p50 of one client cannot be 1.5 syncs, however the buffer is made.",
    "CPU is that of the proxy's process on all threads; the load comes from another one. "
    f"{os.cpu_count()} cores.",
]
