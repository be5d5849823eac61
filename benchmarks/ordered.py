"""Events a second of processors on Valkey, in order by key, beside other queues."""

from __future__ import annotations

import os
import statistics
from dataclasses import replace
from functools import partial
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
SCHEDULED = 1_000
SPREAD, EACH = (100, 10_000), 10
"""So many keys, with so many events in each: what more keys cost, for themselves."""

MOST_LATE = 50.0
MOST_FOR_KEYS = 3.0


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
        spread = _spread(url, client, max(int(EACH * scale), 1))
        streams = ordered_work.streams(url, client, int(20_000 * scale))
        waits = {
            name: ordered_work.delays(url, client, int(DELAYED * scale), stuck)
            for name, stuck in (("ours", False), ("ours, one key is stuck", True))
        }
        late = ordered_work.lateness(url, client, int(SCHEDULED * scale))
        waits["ours, scheduled: after its moment"] = late
        peers, skipped = _peers(url, client, int(PEER_EVENTS * scale))
    others = _others(works, bare, streams, peers)
    notes = [
        f"{os.cpu_count()} cores, and the machine's load was {os.getloadavg()[0]:.1f} when this "
        "ended: processors, server and producer share them, so only ratios tell something.",
        "*batched*: `process_events`, up to 1,000 at a time. *one by one*: `process_event`, with "
        "what is done acknowledged together, at the latest after a quarter of a second. *singly "
        "acknowledged*: one slot, each event acknowledged before the next is handed out. The jobs "
        "do nothing.",
        "The goals on the server's CPU are of keys, not of batches: 10,000 keys are held against "
        f"100 with the same {EACH} events in each, so that a grant holds as many of them, and less "
        "what a start costs; singly acknowledged also with the same "
        f"{EVENTS['singly acknowledged']:,} events in all. The first table has as many events for "
        "all numbers of keys: there a batch of 100 keys is larger than one of 10,000.",
        f"Scheduled events, {SCHEDULED:,} of them, are each due alone, 20 ms after the one before.",
        "A peer has one process and eight workers of its own. None of them keeps order by key.",
        *skipped,
    ]
    tables = [_table(works), _table_of_spread(spread), others, _delays(waits)]
    goals = [*_goals(works, ratios, peers), *_goals_of_keys(works, spread)]
    goals.append(Goal("scheduled events, ms late, the latest", late[-1], MOST_LATE))
    return Result(tables, goals, notes)


def _spread(url: str, client: Any, each: int) -> dict[tuple[Mode, int], Work]:
    """One processor, the same events in each key. Few keys are done soon: the middle of some runs,
    before and after that of many keys, less what the start of a processor costs the server."""
    few, many = SPREAD
    found: dict[tuple[Mode, int], Work] = {}
    for mode in MODES:
        measured = partial(ordered_work.measure, url, client, mode, 1)
        start = measured(1, 1).cpu
        runs = [measured(few, few * each) for _ in range(3)]
        found[mode, many] = _without(start, measured(many, many * each), many * each)
        runs += [measured(few, few * each) for _ in range(2)]
        middle = sorted(runs, key=lambda work: work.cpu)[len(runs) // 2]
        found[mode, few] = _without(start, middle, few * each)
    return found


def _without(start: float, work: Work, events: int) -> Work:
    return replace(work, cpu=work.cpu - start / events)


def _table(works: dict[tuple[Mode, int, int], Work]) -> Table:
    rows: list[list[Cell]] = [
        [mode, workers, keys, work.rate, work.commands, work.trips, 1e6 * work.cpu]
        for (mode, workers, keys), work in works.items()
    ]
    columns = ("mode", "processors", "keys", "events/s", "commands", "requests", "server CPU, µs")
    return Table("Events, and what each costs the server", columns, rows)


def _table_of_spread(spread: dict[tuple[Mode, int], Work]) -> Table:
    rows: list[list[Cell]] = [
        [mode, keys, work.rate, work.commands, work.trips, 1e6 * work.cpu]
        for (mode, keys), work in sorted(spread.items())
    ]
    columns = ("mode", "keys", "events/s", "commands", "requests", "server CPU, µs")
    return Table(f"One processor, {EACH} events in each key", columns, rows)


def _delays(waits: dict[str, list[float]]) -> Table:
    rows: list[list[Cell]] = [
        [name, statistics.median(taken), taken[int(0.99 * len(taken))], taken[-1]]
        for name, taken in waits.items()
    ]
    columns = ("", "p50, ms", "p99, ms", "most, ms")
    return Table("From add to start, idle processor, 10,000 keys", columns, rows)


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
    commands = works["singly acknowledged", 1, 100].commands
    goals.append(Goal("server commands for an event, singly acknowledged", commands, 11.6))
    return goals


def _goals_of_keys(
    works: dict[tuple[Mode, int, int], Work], spread: dict[tuple[Mode, int], Work]
) -> list[Goal]:
    few, many = SPREAD
    name = f"server CPU for an event, {many:,} keys to {few}"
    single: Mode = "singly acknowledged"
    ratio = works[single, 1, many].cpu / works[single, 1, few].cpu
    goals = [Goal(f"{name}, {single}, as many events in all", ratio, MOST_FOR_KEYS)]
    for mode in MODES:
        ratio = spread[mode, many].cpu / spread[mode, few].cpu
        goals.append(Goal(f"{name}, {mode}, {EACH} events in each", ratio, MOST_FOR_KEYS))
    return goals
