"""Races for one object: by threads of this process, or by processes that share nothing.

As a program, this is one racer: it gets a store, and then a line for each race.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import IO

from singerlake.errors import AlreadyExists, Changed, SingerlakeError, StoreError
from singerlake.store.base import Store
from singerlake.store.sealed import lent

READY = "ready"


@dataclass(frozen=True)
class Race:
    """For the object `key`: to replace that version of it, or to create it."""

    key: str
    version: str = ""


Compete = Callable[[Race], int]
"""How many win: 1, where the store keeps its promise."""


def run(store: Store, race: Race) -> bool:
    """Whether this one won."""
    # Unlike any bytes before: versions may be equal for equal bytes.
    data = f"racer {uuid.uuid4().hex}".encode()
    try:
        if race.version:
            store.replace(race.key, data, race.version)
        else:
            store.create(race.key, data)
    except (AlreadyExists, Changed):
        return False
    return True


def threads(store: Store, count: int) -> Compete:
    """Racers in this process, that begin at the same moment."""

    def compete(race: Race) -> int:
        start = threading.Barrier(count)

        def one(_: int) -> bool:
            start.wait()
            return run(store, race)

        with ThreadPoolExecutor(count, thread_name_prefix="singerlake-race") as pool:
            return sum(pool.map(one, range(count)))

    return compete


@contextmanager
def processes(store: Store, count: int) -> Iterator[Compete]:
    """Racers in processes of their own, as writers are. Raises `StoreError` where none starts."""
    racers = [_start() for _ in range(count)]
    try:
        for racer in racers:
            _send(racer, store)
        for racer in racers:
            _answer(racer)

        def compete(race: Race) -> int:
            line = json.dumps(asdict(race)).encode() + b"\n"
            for racer in racers:
                _into(racer).write(line)
            for racer in racers:
                _into(racer).flush()
            return sum(_answer(racer) == "True" for racer in racers)

        yield compete
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()


def _start() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **lent(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except OSError as error:
        raise StoreError(f"no process could be started to race: {error}") from error


def _send(racer: subprocess.Popen[bytes], store: Store) -> None:
    _into(racer).write(pickle.dumps(store))
    _into(racer).flush()


def _answer(racer: subprocess.Popen[bytes]) -> str:
    line = racer.stdout.readline() if racer.stdout is not None else b""
    told = json.loads(line) if line else "a process that races has ended"
    if told not in (READY, "True", "False"):
        raise StoreError(str(told))
    return str(told)


def _into(racer: subprocess.Popen[bytes]) -> IO[bytes]:
    assert racer.stdin is not None
    return racer.stdin


def main() -> None:
    """One racer."""
    store: Store = pickle.load(sys.stdin.buffer)
    _say(READY)
    for line in sys.stdin.buffer:
        try:
            _say(str(run(store, Race(**json.loads(line)))))
        except SingerlakeError as error:
            _say(str(error))


def _say(told: str) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
