"""Requests and CPU per minute of 1, 200 and 2,000 waits, and waits in Airflow beside its sensors.

The peers of the first table poll as one does without a shared source: each wait reads its manifest,
whole or by a conditional request of its own. Those of the second are Airflow's own sensors.
"""

from __future__ import annotations

import asyncio
import itertools
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from benchmarks import wait_airflow
from benchmarks.result import Cell, Goal, Result, Table
from benchmarks.stores import Metered
from singerlake.airflow import settings
from singerlake.airflow.waiting.sources import Sources
from singerlake.format.keys import StreamKeys
from singerlake.lake import open_on
from singerlake.store import MemoryStore
from singerlake.wait import LakeCommit, Wait, Waiter

SIZES = (1, 200, 2_000)
STREAMS = 5
TAP = "tap-bench--wait"
INTERVAL = 0.5
"""Seconds. A minute at 5 seconds has as many looks as six seconds at this interval."""

LOOKS = 12
OURS, OWN, WHOLE = "shared (ours)", "a conditional GET each", "a GET each"

Look = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class _Cost:
    requests: int
    processor: float


def run() -> Result:
    costs = {
        (size, kind): asyncio.run(_measure(size, kind))
        for size, kind in itertools.product(SIZES, (OURS, OWN, WHOLE))
    }
    rows: list[list[Cell]] = []
    for (size, kind), cost in costs.items():
        ours = costs[size, OURS]
        rows.append(
            [
                kind,
                size,
                cost.requests,
                cost.processor,
                cost.requests / ours.requests,
                cost.processor / ours.processor,
            ]
        )
    columns = (
        "waits",
        "how many",
        "requests a minute",
        "CPU, s a minute",
        "requests, of ours",
        "CPU, of ours",
    )
    limit = STREAMS * LOOKS
    goals = [
        Goal(
            f"requests of {size:,} waits for {STREAMS} streams, of one for each stream and look",
            costs[size, OURS].requests / limit,
            1.0,
        )
        for size in SIZES[1:]
    ]
    notes = [
        f"Nothing changes: {LOOKS} looks, as many as a minute has at 5 seconds. The physical limit "
        f"is one request for each of {STREAMS} streams and look, {limit} a minute. The store is in "
        "memory, so the time is that of the client alone.",
    ]
    in_airflow, more_goals, more_notes = wait_airflow.measured()
    tables = [Table(f"Waits for {STREAMS} streams", columns, rows), in_airflow]
    return Result(tables, [*goals, *more_goals], [*notes, *more_notes])


async def _measure(size: int, kind: str) -> _Cost:
    inner = MemoryStore(f"bench-{uuid.uuid4().hex}")
    with open_on(inner, create=True).writer(TAP) as writer:
        for number in range(STREAMS):
            writer.write(b'{"type":"SCHEMA","stream":"s%d","schema":{}}' % number)
            writer.write(b'{"type":"RECORD","stream":"s%d","record":{}}' % number)
        writer.commit()
    store = Metered(inner)
    look = _ours(store, size) if kind == OURS else _peer(store, size, is_whole=kind == WHOLE)
    await look()  # the first reads
    store.reset()
    began = time.process_time()
    for _ in range(LOOKS):
        await asyncio.sleep(INTERVAL)
        await look()
    return _Cost(sum(store.requests.values()), time.process_time() - began)


def _ours(store: Metered, size: int) -> Look:
    settings.opened_lake = lambda url: open_on(store)
    now = datetime.now(timezone.utc)
    waiters = [
        Waiter(Wait(f"w{one}", (LakeCommit(tap=TAP, stream=f"s{one % STREAMS}", since=now),), now))
        for one in range(size)
    ]
    sources = Sources()

    async def one_look(waiter: Waiter) -> None:
        moment = datetime.now(timezone.utc)
        answers = await sources.ask(waiter.questions(moment), INTERVAL)
        if waiter.take(answers, moment).is_done:
            raise AssertionError("expected nothing new, found a commit")

    async def look() -> None:
        await asyncio.gather(*map(one_look, waiters))

    return look


def _peer(store: Metered, size: int, is_whole: bool) -> Look:
    keys = [StreamKeys(TAP, f"s{one % STREAMS}").manifest for one in range(size)]
    known = dict.fromkeys(range(size), "")

    def poll(one: int) -> None:
        if is_whole:
            store.read(keys[one])
        elif (found := store.read_if_changed(keys[one], known[one])) is not None:
            known[one] = found[1]

    async def look() -> None:
        for one in range(size):
            await asyncio.to_thread(poll, one)

    return look
