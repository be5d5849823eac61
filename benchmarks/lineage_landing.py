"""What lineage costs a landing: user CPU with events, next to the same landing without them.

In pairs, one after the other: to a receiver that takes every event, and to one that never answers.
The limit is a landing that reports nothing.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks import pipe
from benchmarks.meter import Cost, measure
from benchmarks.race import config, surroundings
from benchmarks.result import Goal, Result, Table

TAP = "tap-bench--lineage"
PAIRS = 11
AT_LEAST = 0.98

TAKES, HANGS = "a receiver that takes events", "a receiver that never answers"


def run(pairs: int = PAIRS) -> Result:
    found: dict[str, list[tuple[Cost, Cost]]] = {TAKES: [], HANGS: []}
    for number in range(pairs):
        for name in found:
            with _receiver(answers=name == TAKES) as url:
                # In turns: a machine that slows down must not be one side's fault.
                order = (None, url) if number % 2 else (url, None)
                costs = {each: _landed(each) for each in order}
            found[name].append((costs[None], costs[url]))
            print(f"  pair {number + 1}: {name}: {_ratio(found[name][-1]):.3f}", file=sys.stderr)
    rows = [
        (
            name,
            statistics.median(without.user for without, _ in costs),
            statistics.median(traced.user for _, traced in costs),
            statistics.median(map(_ratio, costs)),
            statistics.median(traced.wall - without.wall for without, traced in costs),
        )
        for name, costs in found.items()
    ]
    columns = ("events go to", "user CPU without, s", "with, s", "ratio", "longer by, s")
    messages = pipe.messages(pipe.SMALL, pipe.SMALL.records)
    title = f"{messages.records:,} small records, {pairs} pairs, medians"
    goals = [
        Goal(f"{row[0]}: user CPU, of without", row[3], AT_LEAST, at_least=True) for row in rows
    ]
    notes = [
        *surroundings(),
        "A commit for each 8 MB: more events than a landing with the defaults would make.",
        "A receiver that never answers costs two seconds at the end, in which nothing is computed.",
    ]
    return Result([Table(title, columns, rows)], goals, notes)


def _ratio(pair: tuple[Cost, Cost]) -> float:
    without, traced = pair
    return without.user / traced.user


def _landed(url: str | None) -> Cost:
    messages = pipe.messages(pipe.SMALL, pipe.SMALL.records)
    with tempfile.TemporaryDirectory(dir=pipe.folder().name) as name:
        folder = Path(name)
        given: dict[str, Any] = {} if url is None else {"lineage": url}
        settings = config(
            folder, lake_root=folder / "lake", tap_id=TAP, max_file_bytes=8_000_000, **given
        )
        target = [sys.executable, "-m", "target_singerlake", "--config", settings]
        return measure([["cat", str(messages.path)], target], 1)


@contextmanager
def _receiver(answers: bool) -> Iterator[str]:
    """On this machine, in a process that is not measured."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if not answers:
                over.wait()
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Not to stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        over.set()
        server.shutdown()
        thread.join()
