"""Real processors under load, killed, stopped and cut off: nothing lost, stranded or inverted."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from singerlake.processor import Engine, open_engine
from singerlake.store import LocalStore
from tests.faults import processor_old_worker
from tests.faults.processor_cuts import cutting
from tests.faults.processor_worker import Ground, calls, effects, first_calls, work
from tests.faults.result import Line
from tests.faults.scale import WHOLE, scaled
from tests.forking import fork
from tests.lake.landing import TAP
from tests.lake.running import Running
from tests.processor.running import until
from tests.processor.servers import Server, run_cluster, run_server

SUITE, TEST = "Processor", "tests/faults/test_processor_kills.py"
WORKERS = 3
KILLS, STOPS = scaled(4, 200), scaled(2, 100)
KEYS = 12
LONG = 120.0


class Crowd:
    """Worker processes; each that is killed is followed by another."""

    def __init__(self, ground: Ground, target: Callable[[Ground], None] = work) -> None:
        self._ground, self._target = ground, target
        self.processes: list[Any] = []

    def __enter__(self) -> Crowd:
        for _ in range(WORKERS):
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()

    def start(self) -> None:
        process = fork.Process(target=self._target, args=(self._ground,), daemon=True)
        process.start()
        self.processes.append(process)

    def kill(self, chance: random.Random) -> None:
        process = self.processes.pop(chance.randrange(len(self.processes)))
        process.kill()
        process.join()
        self.start()

    def stop(self, chance: random.Random, seconds: float) -> None:
        """Stop one for so long, which may be longer than its lease."""
        pid = chance.choice(self.processes).pid
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)

    def replace_dead(self) -> int:
        dead = [process for process in self.processes if not process.is_alive()]
        for process in dead:
            process.join()
            self.processes.remove(process)
            self.start()
        return len(dead)


@pytest.fixture
def server() -> Iterator[Server]:
    with run_server(None, "--appendonly", "yes", "--appendfsync", "everysec") as made:
        yield made


def plague(
    crowd: Crowd, add: Callable[[str, int], None], kills: int, stops: int, pace: float = 0.15
) -> dict[str, int]:
    """Kill and stop workers while events are added; returns how many each key got."""
    chance, added = random.Random(7), dict.fromkeys((f"key{n}" for n in range(KEYS)), 0)
    todo = ["kill"] * kills + ["stop"] * stops
    chance.shuffle(todo)
    for what in todo:
        for _ in range(40):
            key = chance.choice(sorted(added))
            added[key] += 1
            add(key, added[key])
        time.sleep(chance.uniform(0, pace))
        if what == "kill":
            crowd.kill(chance)
        else:
            crowd.stop(chance, chance.uniform(0.2, 2.0))
    return added


def require_all(ground: Ground, added: dict[str, int], line: Line, engine: Engine) -> None:
    """Every effect once and in order, first calls in order, no key stranded."""
    wanted = {key: list(range(1, count + 1)) for key, count in added.items() if count}
    until(lambda: sum(map(len, effects(ground).values())) >= sum(added.values()), LONG)
    until(lambda: not any(state.waiting for state in engine.states()), LONG)
    found, called = effects(ground), calls(ground)
    line.runs = sum(added.values())
    line.replays = sum(len(numbers) - len(set(numbers)) for numbers in called.values())
    inverted = sum(first_calls(numbers) != sorted(set(numbers)) for numbers in called.values())
    stranded = sum(state.stranded for state in engine.states())
    line.violations = inverted + stranded + (found != wanted)
    line.keep()
    assert found == wanted
    assert inverted == 0
    assert stranded == 0


@pytest.mark.slow
@pytest.mark.timeout(scaled(240, 3600))
@pytest.mark.parametrize("kind", ["valkey", "sqlite"])
def test_kills_stops_and_cut_answers(kind: str, server: Server, tmp_path: Path) -> None:
    line = Line(
        SUITE,
        f"processors killed and stopped, on {kind}",
        TEST,
        bounds=f"{KILLS} kills, {STOPS} stops, {WORKERS} processors",
    )
    with cutting(server.port) as cuts:
        url = cuts.url if kind == "valkey" else f"sqlite:///{tmp_path}/work.db?synchronous=normal"
        ground = Ground(url, tmp_path)
        settings = {"namespace": ground.namespace} if kind == "valkey" else {}
        engine = open_engine(url, **settings)
        with Crowd(ground) as crowd:

            def add(key: str, number: int) -> None:
                engine.add(key, number)

            added = plague(crowd, add, KILLS, STOPS)
            require_all(ground, added, line, engine)
        line.faults = KILLS + STOPS + cuts.count
        line.keep()
        assert kind == "sqlite" or cuts.count > 0


@pytest.mark.slow
@pytest.mark.timeout(scaled(240, 3600))
def test_the_original_protocol_loses_and_inverts(server: Server, tmp_path: Path) -> None:
    """The control: the same harness must see what is wrong with it."""
    line = Line(SUITE, "the original protocol, killed and stopped", TEST)
    with cutting(server.port) as cuts:
        ground = Ground(cuts.url, tmp_path)
        client = server.client()
        with Crowd(ground, processor_old_worker.work_as_before) as crowd:

            def add(key: str, number: int) -> None:
                processor_old_worker.add(client, key, number)

            added = plague(crowd, add, scaled(6, 60), scaled(3, 30))
            end = time.monotonic() + 10
            while time.monotonic() < end and client.keys("old:events:*"):
                time.sleep(0.1)
        found = effects(ground)
        wanted = {key: list(range(1, count + 1)) for key, count in added.items() if count}
        line.runs = sum(added.values())
        line.control(found != wanted, "the original protocol")


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_an_event_that_kills_its_process_becomes_a_dead_letter(
    server: Server, tmp_path: Path
) -> None:
    line = Line(SUITE, "poison that kills its process", TEST, bounds="at most 3 deliveries")
    ground = Ground(server.url, tmp_path, poison="yes", lease=0.5)
    engine = open_engine(server.url, namespace=ground.namespace)
    with Crowd(ground) as crowd:
        engine.add("poison", 0)
        for number in range(1, 21):
            engine.add(f"key{number % 4}", number)
        end, crashes = time.monotonic() + LONG, 0
        while not engine.dead():
            crashes += crowd.replace_dead()
            assert time.monotonic() < end
            time.sleep(0.05)
        until(lambda: sum(map(len, effects(ground).values())) == 20, LONG)
    line.runs, line.faults = 21, crashes
    line.keep()
    assert len(calls(ground)["poison"]) == 3
    assert crashes <= 4


# The lake as a source


class Writer:
    """Commits to streams of a lake, and knows how many each has."""

    def __init__(self, root: Path) -> None:
        self.store = LocalStore(root)
        self.committed = dict.fromkeys(("orders", "people"), 0)

    def commit(self, count: int) -> None:
        for stream in self.committed:
            run = Running(self.store, f"r-{self.committed[stream]}", stream)
            for _ in range(count):
                self.committed[stream] += 1
                run.commit([self.committed[stream]])
            run.end()

    @property
    def wanted(self) -> dict[str, list[int]]:
        return {
            f"{TAP}/{stream}": list(range(1, count + 1)) for stream, count in self.committed.items()
        }


@pytest.mark.slow
@pytest.mark.timeout(scaled(300, 3600))
@pytest.mark.parametrize("fault", ["killed", "emptied", "cut back"])
def test_a_server_that_forgets_loses_no_commit(fault: str, server: Server, tmp_path: Path) -> None:
    line = Line(SUITE, f"a lake as source, the server {fault}", TEST)
    writer = Writer(tmp_path / "lake")
    writer.commit(2)
    ground = Ground(server.url, tmp_path, lake=str(tmp_path / "lake"))
    with Crowd(ground):
        for _ in range(scaled(2, 20)):
            writer.commit(3)
            until(lambda: sum(map(len, effects(ground).values())) > 2, LONG)
            _harm(server, fault)
            line.faults += 1
        writer.commit(2)
        until(lambda: effects(ground) == writer.wanted, LONG)
    line.runs = sum(writer.committed.values())
    line.replays = sum(len(one) - len(set(one)) for one in calls(ground).values())
    line.keep()
    assert effects(ground) == writer.wanted


def _harm(server: Server, fault: str) -> None:
    if fault == "emptied":
        server.client().flushall()
        return
    server.kill()
    if fault == "cut back":
        (log,) = (server.folder / "appendonlydir").glob("*.incr.aof")
        os.truncate(log, int(log.stat().st_size * 0.7))
    server.start()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not WHOLE, reason="takes a Cluster of six and a minute: `make faults` runs it")
def test_a_primary_of_a_cluster_that_is_killed(tmp_path: Path) -> None:
    line = Line(SUITE, "a lake as source, a Cluster's primaries killed", TEST)
    writer = Writer(tmp_path / "lake")
    with run_cluster() as cluster:
        ground = Ground(cluster.url, tmp_path, lake=str(tmp_path / "lake"))
        with Crowd(ground):
            for number in range(2):
                writer.commit(5)
                until(lambda: sum(map(len, effects(ground).values())) > 2, LONG)
                cluster.nodes[number].kill()
                line.faults += 1
                writer.commit(5)
                until(lambda: effects(ground) == writer.wanted, LONG)
                cluster.nodes[number].start()
    line.runs = sum(writer.committed.values())
    line.keep()
    assert effects(ground) == writer.wanted
