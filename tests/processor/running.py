"""Processors in threads of a test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from singerlake.processor import Processor

LONG = 60.0
"""Seconds after which a test gives up: machines that run tests are busy."""


@contextmanager
def running(*processors: Processor) -> Iterator[None]:
    failures: list[BaseException] = []

    def run(processor: Processor) -> None:
        try:
            processor.run()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(one,), daemon=True) for one in processors]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for processor in processors:
            processor.stop()
        for thread in threads:
            thread.join(LONG)
    if failures:
        raise failures[0]


def until(condition: Callable[[], object], seconds: float = LONG) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)
