"""A processor: slots that share the keys of an engine with all other processors."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from singerlake.errors import ConfigError, SingerlakeError
from singerlake.processor.engine.base import Engine
from singerlake.processor.engine.values import Slot
from singerlake.processor.job import Loop, as_job
from singerlake.processor.observer import Observer
from singerlake.processor.options import ProcessorOptions
from singerlake.processor.outage import Outage
from singerlake.processor.renewal import Renewal
from singerlake.processor.slot import SlotLoop

if TYPE_CHECKING:
    from singerlake.processor.lake_source import LakeSource

logger = logging.getLogger("singerlake.processor")

TEND_SECONDS = 5.0
"""How often a processor looks whether its lake is polled at all."""


class Processor:
    """Runs a job on the events of an engine.

    Processor(engine, job).run()

    `job` is a function of an event, or an object with `process_event(event)` or
    `process_events(key, events)`, and optionally `start(key)`; plain or `async def`. It returns
    true where the session of the key is complete. `changes` are fields of `ProcessorOptions`.
    """

    def __init__(
        self,
        engine: Engine,
        job: Any,
        concurrency: int = 8,
        *,
        options: ProcessorOptions | None = None,
        source: LakeSource | None = None,
        observer: Observer | None = None,
        **changes: Any,
    ) -> None:
        if concurrency < 1:
            raise ConfigError(f"concurrency: expected at least 1, found {concurrency}")
        try:
            self.options = replace(options or ProcessorOptions(), **changes)
        except TypeError as error:
            raise ConfigError(f"no such option of a processor: {error}") from error
        self.engine, self.source = engine, source
        self.observer = observer or Observer()
        self._loop = Loop()
        self.job = as_job(job, self._loop)
        self.client = f"{socket.gethostname()}-{os.getpid()}-{engine.runtime.new_id()[:8]}"
        has_sessions = self.job.start is not None
        self.terms = self.options.terms(has_sessions, owns=source is not None)
        self.stopping, self.idle = threading.Event(), threading.Lock()
        self.outage = Outage(self.options.outage_keys, engine.runtime, self.stopping)
        self.renewal = Renewal(engine, self.client, self.terms, self.fenced)
        self.listener = engine.listener(self.client)
        self._slots = [SlotLoop(self, number) for number in range(concurrency)]
        self._failure: BaseException | None = None
        self._fenced: deque[tuple[str, int]] = deque(maxlen=1000)

    def run(self) -> None:
        """Work until `stop`, or until SIGTERM or SIGINT where this is the main thread.

        Raises whatever ended a slot: an engine that cannot be reached, say.
        """
        with self._signals():
            if self.source is not None:
                self.source.begin(self.engine, self.observer)
            self.renewal.start()
            threads = [self._start(slot) for slot in self._slots]
            try:
                while not self.stopping.wait(TEND_SECONDS):
                    self._tend()
            finally:
                self.stop()
                self._end(threads)
        if self._failure is not None:
            raise self._failure

    def _tend(self) -> None:
        if self.source is not None:
            try:
                self.source.tend()
            except SingerlakeError as error:
                logger.warning("the engine cannot be asked now: %s", error)

    def stop(self) -> None:
        """Have `run` return: jobs under way have `grace` seconds to end; the keys of those that do
        not are free at once. From any thread."""
        self.stopping.set()
        try:
            self.listener.interrupt()
        except SingerlakeError as error:
            logger.info("the engine cannot be reached to stop: %s", error)

    def is_poll(self, key: str) -> bool:
        """Whether the event of this key asks the lake for more."""
        return self.source is not None and key == self.source.key

    def fenced(self, key: str, token: int) -> None:
        """A lease was lost: the job held the processor's threads, or the machine slept."""
        if (key, token) in self._fenced:
            return
        self._fenced.append((key, token))
        self.observer.count("fenced")
        logger.error(
            "key %s: its lease of %g s was lost while an event was processed; another processor "
            "has the key, and what this one did does not count. Is the job's code holding Python's "
            "lock, or the machine too busy?",
            key,
            self.terms.lease,
        )

    def _start(self, slot: SlotLoop) -> threading.Thread:
        def run() -> None:
            try:
                slot.run()
            except BaseException as error:
                self._failure = self._failure or error
                self.stop()

        return self.engine.runtime.start(run, "singerlake-slot")

    def _end(self, threads: list[threading.Thread]) -> None:
        runtime = self.engine.runtime
        end = runtime.monotonic() + self.options.grace
        for thread in threads:
            thread.join(max(0.0, end - runtime.monotonic()))
        if any(thread.is_alive() for thread in threads):
            for slot in self._slots:
                slot.give_back()
            self._loop.cancel()
        self.renewal.stop()
        self._say_goodbye()
        if self.source is not None:
            self.source.end()
        self._loop.stop()
        self.listener.close()

    def _say_goodbye(self) -> None:
        """Keys that wait for this processor alone are for all, at once."""
        slot = Slot(self.client, 0)
        for shard in range(self.engine.shards) if self.terms.has_own_line else ():
            try:
                self.engine.renew(shard, self.client, replace(self.terms, lease=0.0), {})
                self.engine.turn(shard, slot, self.terms, claim=False)
            except SingerlakeError as error:
                logger.info("the engine cannot be reached to stop: %s", error)
                return

    @contextmanager
    def _signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_signal(*_: object) -> None:
            # In a thread: a handler may interrupt code that holds the very lock it would need.
            self.engine.runtime.start(self.stop, "singerlake-stop")

        kept = {
            number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
