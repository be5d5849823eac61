"""Lineage of a command's work, where the environment says where events go."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from singerlake.cli.exit_codes import TERMINATED
from singerlake.cli.extra import extra_module
from singerlake.lake import Lake

SETTING = "SINGERLAKE_LINEAGE"
VARIABLES = (SETTING, "OPENLINEAGE_CONFIG", "OPENLINEAGE_URL")
PACKAGES = frozenset({"yaml"})

Done = Callable[[Any], None]
"""Is given what the work came to."""


class Trace:
    """Reports what a command does, or nothing, where nobody asked for it."""

    def __init__(self, trace: Any = None) -> None:
        self._trace = trace

    @contextmanager
    def around(self, work: str, *arguments: Any) -> Iterator[Done]:
        """Around one piece of work: `vacuum`, `project` or `check`."""
        if self._trace is None:
            yield lambda result: None
            return
        with getattr(self._trace, work)(*arguments) as done:
            yield done


@contextmanager
def tracing(lake: Lake, is_wanted: bool = True) -> Iterator[Trace]:
    """Around all that a command does; unsent events get two seconds at its end."""
    if not is_wanted or not any(os.environ.get(name) for name in VARIABLES):
        yield Trace()
        return
    module = extra_module("lineage.trace.command", "lineage", PACKAGES)
    trace = module.open_trace(lake, os.environ.get(SETTING, ""))
    if trace is None:
        yield Trace()
        return
    with _terminated_in_order():
        try:
            yield Trace(trace)
        finally:
            trace.close()


@contextmanager
def _terminated_in_order() -> Iterator[None]:
    """SIGTERM unwinds what is at work, as Ctrl-C does: a run that it ends has to be aborted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once
    raise SystemExit(TERMINATED)
