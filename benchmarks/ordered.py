"""Events a second of processors on Valkey, in order by key, beside other queues."""

from __future__ import annotations

import os
from typing import Any

from benchmarks import ordered_work
from benchmarks.environments import Skipped, folder_of_commands, version
from benchmarks.ordered_work import Mode, Work
from benchmarks.result import Cell, Goal, Result, Table

MODES: tuple[Mode, ...] = ("batched", "one by one", "singly acknowledged")
WORKERS, KEYS = (1, 2, 8), (1, 100, 10_000)
EVENTS: dict[Mode, int] = {"batched": 100_000, "one by one": 50_000, "singly acknowledged": 10_000}
PEERS = {"dramatiq": "dramatiq[redis]", "arq": "arq", "bullmq": "bullmq"}
PEER_EVENTS = 2_000
DELAYED = 10_000


def run() -> Result:
    scale = float(os.environ.get("SINGERLAKE_BENCHMARK_SCALE", "1"))
    with ordered_work.server() as (url, client):
        bare = max(ordered_work.bare(url) for _ in range(3))
        # In turns, and the best of each: a busy moment must not fall on one of them alone.
        ratios = {keys: _of_bare(url, client, keys, scale) for keys in (1, 100)}
        works = {
            (mode, workers, keys): ordered_work.measure(
                url, client, mode, workers, keys, max(int(EVENTS[mode] * scale), keys)
            )
            for mode in MODES
            for workers in WORKERS
            for keys in KEYS
        }
        streams = ordered_work.streams(url, client, int(20_000 * scale))
        waits: list[list[Cell]] = [
            [name, *ordered_work.delays(url, client, int(DELAYED * scale), stuck)]
            for name, stuck in (("ours", False), ("ours, one key is stuck", True))
        ]
        peers, skipped = _peers(url, client, int(PEER_EVENTS * scale))
    others = _others(works, bare, streams, peers)
    columns = ("", "p50, ms", "p99, ms")
    delay = Table("From add to start, idle processor, 10,000 keys", columns, waits)
    notes = [
        f"{os.cpu_count()} cores, and the machine's load was {os.getloadavg()[0]:.1f} when this "
        "ended: processors, server and producer share them, so only ratios tell something.",
        "*batched*: `process_events`, up to 1,000 at a time. *one by one*: `process_event`, with "
        "what is done acknowledged together, at the latest after a quarter of a second. *singly "
        "acknowledged*: one slot, each event acknowledged before the next is handed out. The jobs "
        "do nothing.",
        "A peer has one process and eight workers of its own. None of them keeps order by key.",
        *skipped,
    ]
    return Result([_table(works), others, delay], _goals(works, ratios, peers), notes)


def _table(works: dict[tuple[Mode, int, int], Work]) -> Table:
    rows: list[list[Cell]] = [
        [mode, workers, keys, work.rate, work.commands, work.trips, 1e6 * work.cpu]
        for (mode, workers, keys), work in works.items()
    ]
    columns = ("mode", "processors", "keys", "events/s", "commands", "requests", "server CPU, µs")
    return Table("Events, and what each costs the server", columns, rows)


def _others(
    works: dict[tuple[Mode, int, int], Work], bare: float, streams: float, peers: dict[str, float]
) -> Table:
    rows: list[list[Cell]] = [
        [f"ours, {mode}", works[mode, 1, 100].rate, works[mode, 1, 100].rate / bare]
        for mode in MODES
    ]
    rows.append(["streams with consumer groups", streams, streams / bare])
    rows += [[name, rate, rate / bare] for name, rate in peers.items()]
    rows.append(["bare EVALSHA, one client", bare, 1.0])
    return Table("One process, 100 keys", ("", "events/s", "of bare EVALSHA"), rows)


def _peers(url: str, client: Any, events: int) -> tuple[dict[str, float], list[str]]:
    found: dict[str, float] = {}
    skipped: list[str] = []
    for name, package in PEERS.items():
        try:
            client.flushall()
            commands = folder_of_commands(package)
            label = f"{name} {version(name)}" if package == name else name
            found[label] = ordered_work.peer(commands, f"{name}_queue.py", url, events)
        except Skipped as error:
            skipped.append(f"No comparison with {name}: {error}.")
    return found, skipped


def _of_bare(url: str, client: Any, keys: int, scale: float) -> float:
    """One slot of one process, with one request under way, of one client's EVALSHA."""
    events, ours, limits = int(EVENTS["singly acknowledged"] * scale), list[float](), list[float]()
    for _ in range(3):
        work = ordered_work.measure(url, client, "singly acknowledged", 1, keys, events)
        ours.append(work.rate)
        limits.append(ordered_work.bare(url))
    return max(ours) / max(limits)


def _goals(
    works: dict[tuple[Mode, int, int], Work], ratios: dict[int, float], peers: dict[str, float]
) -> list[Goal]:
    dramatiq = next((rate for name, rate in peers.items() if name.startswith("dramatiq")), None)
    goals = []
    if dramatiq is not None:
        batched, single = works["batched", 1, 100].rate, works["singly acknowledged", 1, 100].rate
        goals.append(Goal("batched, times dramatiq", batched / dramatiq, 20, at_least=True))
        goals.append(
            Goal("singly acknowledged, times dramatiq", single / dramatiq, 1, at_least=True)
        )
    for keys, ratio in ratios.items():
        name = f"singly acknowledged, keys: {keys}, of bare EVALSHA"
        goals.append(Goal(name, ratio, 0.6, at_least=True))
    few, many = (works["singly acknowledged", 1, keys].cpu for keys in (100, 10_000))
    goals.append(Goal("server CPU for an event, 10,000 keys to 100", many / few, 3))
    commands = works["singly acknowledged", 1, 100].commands
    goals.append(Goal("server commands for an event, singly acknowledged", commands, 11.6))
    return goals
