"""Jobs: what a processor calls, whether it is a function or an object, plain or async."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from singerlake.errors import ConfigError
from singerlake.processor.event import Event


@dataclass(frozen=True)
class Job:
    """`start(key)` begins a session. `one(event)` and `many(key, events)` return true where the
    session of the key is complete."""

    name: str
    one: Callable[[Event], Any] | None = None
    many: Callable[[str, Sequence[Event]], Any] | None = None
    start: Callable[[str], Any] | None = None


class Loop:
    """An event loop in a thread of its own, for jobs that are `async def`. Its thread begins with
    the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, made: Any) -> Any:
        """The result of a coroutine. Raises `asyncio.CancelledError` where the loop was stopped."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                name = "singerlake-processor-async"
                threading.Thread(target=self._loop.run_forever, name=name, daemon=True).start()
        waiting = asyncio.run_coroutine_threadsafe(_contained(made), self._loop)
        try:
            return waiting.result()
        except BaseException as error:
            if type(error).__name__ == "CancelledError":
                raise asyncio.CancelledError from error
            raise

    def cancel(self) -> None:
        """End what runs."""
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(self._cancel_all)

    def _cancel_all(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)


async def _contained(made: Any) -> Any:
    """`sys.exit` would end the loop, and with it every job that waits for it."""
    try:
        return await made
    except SystemExit as error:
        raise RuntimeError(f"SystemExit: {error}") from error


def as_job(given: Any, loop: Loop) -> Job:
    """A function, or an object with `process_event` or `process_events`. Raises `ConfigError`."""
    if isinstance(given, Job):
        return given
    name = getattr(given, "__name__", type(given).__name__)
    one = getattr(given, "process_event", None)
    many = getattr(given, "process_events", None)
    start = getattr(given, "start", None)
    if one is None and many is None:
        if not callable(given):
            raise ConfigError(
                "expected a job: a function of an event, or an object with process_event(event) or "
                f"process_events(key, events); found {given!r}"
            )
        return Job(name, one=_called(given, loop))
    return Job(name, _called(one, loop), _called(many, loop), _called(start, loop))


def _called(function: Any, loop: Loop) -> Any:
    if function is None:
        return None

    def call(*args: Any) -> Any:
        found = function(*args)
        return loop.run(found) if inspect.isawaitable(found) else found

    return call
