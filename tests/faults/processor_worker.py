"""Processors in processes of their own, which others kill and stop.

Each notes every call of its job, in one file for all; the sink takes effects by `once`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from singerlake import open_lake
from singerlake.lake.feed.options import FeedOptions
from singerlake.processor import Event, LakeSource, Processor, once, open_engine


@dataclass(frozen=True)
class Ground:
    """Where processors work."""

    engine: str
    folder: Path
    lake: str = ""
    lease: float = 1.0
    batch: int = 20
    poison: str = ""
    namespace: str = "faults"

    @property
    def sink(self) -> Path:
        return self.folder / "sink.db"

    @property
    def calls(self) -> Path:
        return self.folder / "calls"


def work(ground: Ground) -> None:
    """Until somebody ends this process."""
    settings = {} if ground.engine.startswith("sqlite") else {"namespace": ground.namespace}
    engine = open_engine(ground.engine, **settings)
    calls = os.open(ground.calls, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    source = None
    if ground.lake:
        options = FeedOptions(poll_seconds=0.05, idle_seconds=0.05)
        source = LakeSource(open_lake(ground.lake), options=options)

    def job(event: Event) -> None:
        number = event.sequence or event.value
        note = json.dumps([event.key, number, event.position, event.token]) + "\n"
        os.write(calls, note.encode())
        if ground.poison and event.key == "poison":
            os.kill(os.getpid(), 9)
        sink = open_sink(ground.sink)
        with once(sink, event) as is_new:
            if is_new:
                sink.execute("INSERT INTO effects VALUES (?, ?)", (event.key, number))
        sink.close()

    Processor(
        engine,
        job,
        concurrency=4,
        source=source,
        lease=ground.lease,
        batch=ground.batch,
        backoff=0.05,
        max_deliveries=3 if ground.poison else 1000,
        on_dead="skip" if ground.poison else "hold",
        outage_keys=10_000,
    ).run()


def open_sink(path: Path) -> sqlite3.Connection:
    sink = sqlite3.connect(path, 60, isolation_level=None)
    sink.execute("PRAGMA journal_mode = WAL")
    sink.execute("CREATE TABLE IF NOT EXISTS effects (key TEXT, number INTEGER)")
    return sink


def effects(ground: Ground) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    sink = open_sink(ground.sink)
    for key, number in sink.execute("SELECT key, number FROM effects ORDER BY rowid"):
        found[key].append(number)
    sink.close()
    return dict(found)


def calls(ground: Ground) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    if ground.calls.exists():
        for line in ground.calls.read_text().splitlines():
            key, number, _, _ = json.loads(line)
            found[key].append(number)
    return dict(found)


def first_calls(numbers: list[int]) -> list[int]:
    return list(dict.fromkeys(numbers))
