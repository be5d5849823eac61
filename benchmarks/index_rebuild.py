"""A lake of many files made as manifests and segments, and what a rebuild of its index costs.

As a script: `python -m benchmarks.index_rebuild LAKE INDEX` rebuilds, and prints what it took.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.feed_lake import Standing
from benchmarks.index_entries import HASH, NAMES, Shape
from benchmarks.streams import SCHEMA, make_of
from singerlake.format import catalogue
from singerlake.format.manifest import File
from singerlake.index.entry import Entry, moment
from singerlake.index.ingester import Ingester
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake, open_lake, registry
from singerlake.lake.feed.follower import Follower
from singerlake.lake.feed.options import DEFAULTS
from singerlake.store import Store


def make_lake(folder: Path, shape: Shape) -> None:
    """Only the documents: an index reads no file."""
    store = open_lake(folder, create=True).store
    streams = list(shape.streams())
    for tap in dict.fromkeys(tap for tap, _ in streams):
        registry.register_taps(store, [tap])
        names = [name for one, name in streams if one == tap]
        assert len(names) == NAMES
        registry.register_streams(
            store, tap, {name: catalogue.entry(name, SCHEMA) for name in names}
        )
        for name in names:
            _make(store, shape, tap, name)


def _make(store: Store, shape: Shape, tap: str, name: str) -> None:
    files = tuple(_file(entry) for entry in shape.of(tap, name))
    make_of(store, name, files, tap)


def _file(entry: Entry) -> File:
    return File(
        path=entry.path.replace(HASH, SCHEMA.hash()),
        sequence=entry.sequence,
        records=entry.records or 0,
        bytes=entry.size,
        raw_bytes=10 * entry.size,
        first=moment(entry.start),
        last=moment(entry.end),
        checksum=entry.hash,
        writer_id=entry.writer_id or "",
        run_id=entry.run_id or "",
        committed=moment(entry.create_time),
    )


def measure(lake: Path, index: Path) -> dict[str, float]:
    """In a process of its own: seconds of CPU, peak memory in MB, and how many entries."""
    command = [sys.executable, "-m", "benchmarks.index_rebuild", str(lake), str(index)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def main(lake: str, index: str) -> None:
    from singerlake.index.open import open_index
    from singerlake.index.rebuild import rebuild_index

    began = time.process_time()
    storage = open_index(f"sqlite:///{index}")
    entries = rebuild_index(storage, open_lake(lake), lambda event: sys.exit(event.error))
    spent, peak = time.process_time() - began, _peak()
    idle = _idle_poll(storage, open_lake(lake))
    storage.close()
    print(json.dumps({"cpu": spent, "peak": peak, "entries": entries, "idle": idle}))


def _idle_poll(storage: Storage, lake: Lake) -> float:
    """Seconds of CPU to find out that no stream has changed."""
    clock = Standing()
    ingester = Ingester(storage, lake, follower=Follower(lake.store, DEFAULTS, clock))
    spent = 0.0
    for _ in range(3):
        clock.seconds += DEFAULTS.idle_seconds
        began = time.process_time()
        ingester.poll()
        spent = time.process_time() - began
    return spent


def _peak() -> float:
    """Of this program alone: `getrusage` counts what its parent had when it was started."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
