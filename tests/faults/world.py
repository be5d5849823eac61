"""A world that repeats itself: time, identifiers and threads are ours, the code is the product's.

Inside `deterministic()` nobody really waits, an identifier follows from who asks for how many,
and what reads in parallel reads in order. So a schedule can be run again, and two schedules that
lead to the same state can be seen to.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any
from unittest import mock

from singerlake.format import keys, names
from singerlake.lake import clock
from tests.faults import keeper
from tests.faults.life import World

WAITING = ("checking", "commit", "lock", "patience", "vacuum")
NAMING = ("commit", "identity", "merge", "registry", "uploads")
READING = (
    "check_markers",
    "check_stream",
    "log",
    "newer_formats",
    "provenance",
    "purging",
    "rebuilding",
    "retired",
    "schemas",
    "singerlake.lake.blobs.purge",
    "singerlake.lake.runs.documents",
    "singerlake.lake.runs.log",
    "uploads",
    "vacuum",
)
WORKING = ("delivery", "spool")


@contextlib.contextmanager
def deterministic(waiting: Iterable[str] = (), naming: Iterable[str] = ()) -> Iterator[World]:
    """The product's code in a world of ours; more modules of it can be named."""
    world = World()
    with contextlib.ExitStack() as patches:

        def patch(names: Iterable[str], what: str, value: object) -> None:
            for name in names:
                module = importlib.import_module(name if "." in name else f"singerlake.lake.{name}")
                patches.enter_context(mock.patch.object(module, what, value))

        patch((*WAITING, *waiting), "time", world)
        patch((*NAMING, *naming), "uuid", world)
        patch(READING, "in_parallel", world.in_parallel)
        patch(WORKING, "ThreadPoolExecutor", Inline)
        patches.enter_context(mock.patch.object(clock, "now", world.now))
        for name in ("escape", "unescape"):  # a sixth of the time of all these runs
            remembered = functools.cache(getattr(names, name))
            for module in (keys, names):
                patches.enter_context(mock.patch.object(module, name, remembered))
        patches.enter_context(keeper.scheduled())
        # Thousands of runs tell of thousands of locks that they took over.
        before = logging.root.manager.disable
        patches.callback(logging.disable, before)
        logging.disable(logging.CRITICAL)
        yield world


def in_order(work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """Instead of `in_parallel`: the same results in the same order, on the caller's thread."""
    return map(work, items)


class Inline:
    """Instead of a pool of threads: work is done when it is submitted, as one thread would."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        pass
