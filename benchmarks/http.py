"""Requests to our services: CPU and memory of the kit, beside bare uvicorn and a bare socket.

And of the index's API over 100,000 files.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import http_servers
from benchmarks.result import Cell, Goal, Result, Table

POSTS = 5_000
QUESTIONS = 200
BODY = b"x" * 2048
MOST_TIMES_UVICORN, MOST_MEGABYTES = 2.0, 80.0

POST = (
    b"POST / HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\nuser-agent: benchmark\r\n"
    b"content-length: 2048\r\n\r\n" + BODY
)
KINDS = {
    "a bare socket": "bare",
    "uvicorn, raw ASGI": "uvicorn",
    "the kit, raw ASGI": "kit",
    "the kit, Starlette": "starlette",
}
ASKED = {
    "a page of 100": "what=orders_00&start=2026-03-01&end=2026-12-31&count=false",
    "a page of 100, counted": "what=orders_00&start=2026-03-01&end=2026-12-31",
    "what + where + a day": "what=orders_00&where=tap-01--meltanolabs&interval=2026-03-01",
}


@contextmanager
def _server(name: str, argument: str = "") -> Iterator[tuple[socket.socket, int]]:
    """A connection to a server, and the number of its process."""
    command = [sys.executable, "-m", "benchmarks.http_servers", name, argument]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        parts = urlsplit(process.stdout.readline().strip())
        with socket.create_connection((parts.hostname, parts.port), 60) as opened:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield opened, process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _cpu(process: int) -> float:
    """Seconds on a processor so far, of all threads."""
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _exchange(opened: socket.socket, request: bytes) -> None:
    opened.sendall(request)
    received = opened.recv(1 << 20)
    head, _, rest = received.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(received[:500])
    missing = length - len(rest)
    while missing > 0:
        missing -= len(opened.recv(missing))


def _measured(opened: socket.socket, process: int, request: bytes, count: int) -> float:
    """Microseconds of CPU for one request."""
    for _ in range(count // 10):
        _exchange(opened, request)
    before = _cpu(process)
    for _ in range(count):
        _exchange(opened, request)
    return (_cpu(process) - before) / count * 1e6


def index_api(path: str, entries: int) -> Table:
    """The v0 API over the index at a path: CPU of the server, for one request after the other."""
    asked: list[list[Cell]] = []
    with _server("index", path) as (opened, process):
        for question, query in ASKED.items():
            request = f"GET /v0/archive/files/?{query} HTTP/1.1\r\nhost: t\r\n\r\n".encode()
            taken = _measured(opened, process, request, QUESTIONS)
            asked.append([question, taken / 1000, 1e6 / taken])
    columns = ("question", "ms of CPU", "requests/s of a core")
    return Table(f"The index's API over HTTP, {entries:,} entries", columns, asked)


def run() -> Result:
    posts: dict[str, tuple[float, float]] = {}
    for kind, name in KINDS.items():
        with _server(name, str(len(POST))) as (opened, process):
            taken = _measured(opened, process, POST, POSTS)
            posts[kind] = (taken, _megabytes(process))
    limit, peer = posts["a bare socket"][0], posts["uvicorn, raw ASGI"][0]
    rows: list[list[Cell]] = [
        [kind, taken, taken / limit, taken / peer, memory]
        for kind, (taken, memory) in posts.items()
    ]
    ours, memory = posts["the kit, raw ASGI"]
    with tempfile.TemporaryDirectory(prefix="http-") as folder:
        path = f"{folder}/index.db"
        http_servers.fill(path)
        api = index_api(path, http_servers.ENTRIES)
    columns = ("server", "µs of CPU", "of a bare socket", "of uvicorn", "MB")
    tables = [Table("A POST of 2 KB", columns, rows), api]
    goals = [
        Goal("the kit beside bare uvicorn, times its CPU", ours / peer, MOST_TIMES_UVICORN),
        Goal("memory of the kit, MB", memory, MOST_MEGABYTES),
    ]
    notes = [
        "One connection on 127.0.0.1, one request at a time; CPU is that of the server's process.",
        "*A bare socket* takes the bytes without a look at them: the least that a server in Python "
        "can do, on uvloop as the others.",
    ]
    return Result(tables, goals, notes)
