"""The consumer of one destination: reads the buffer in order, sends, and notes how far it is."""

from __future__ import annotations

import logging
import sqlite3
import threading
from typing import Literal

from singerlake.errors import SingerlakeError
from singerlake.lineage.buffer.buffer import Buffer
from singerlake.lineage.buffer.disk import dead
from singerlake.lineage.buffer.disk.dead import Done, Refusal
from singerlake.lineage.proxy.courier import Backoff, Courier
from singerlake.lineage.proxy.health import Health
from singerlake.lineage.proxy.lanes import Lanes
from singerlake.lineage.transport.base import Transport
from singerlake.lineage.transport.origin import lane_of
from singerlake.runtime import REAL, Runtime

logger = logging.getLogger(__name__)

Order = Literal["global", "run"]

READ = 128
"""Events that are read at once."""

SAVE_SECONDS = 0.02
"""A checkpoint is saved at most so often: after a crash, what was sent since is sent again."""

IDLE_SECONDS = 0.5
PAUSE_SECONDS = 1.0
DEFAULT_BACKOFF = Backoff()


class Consumer:
    def __init__(
        self,
        buffer: Buffer,
        transport: Transport,
        order: Order = "global",
        backoff: Backoff = DEFAULT_BACKOFF,
        runtime: Runtime = REAL,
    ) -> None:
        self.name, self.health = transport.name, Health(transport.name, runtime)
        self._buffer, self._transport, self._order = buffer, transport, order
        self._backoff, self._runtime = backoff, runtime
        self._stopping = threading.Event()
        self._unsaved: Done | None = None
        self._saved_at = runtime.monotonic()
        self._thread = runtime.start(self._run, f"singerlake-lineage-{self.name}")

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._by_run() if self._order == "run" else self._in_order()
            except (SingerlakeError, sqlite3.Error, OSError) as error:
                # A full disk, or one that cannot be read now: from the checkpoint, later.
                logger.error("%s: the buffer cannot be read now: %s", self.name, error)
                self._runtime.wait(self._stopping, PAUSE_SECONDS)
            except Exception:  # a consumer that ends in silence would hold its events for ever
                logger.exception("%s: the consumer failed, and begins anew", self.name)
                self._runtime.wait(self._stopping, PAUSE_SECONDS)

    def _courier(self) -> Courier:
        return Courier(
            self._transport,
            self._buffer.state,
            self.health,
            self._stopping,
            self._backoff,
            self._runtime,
        )

    # One after the other.

    def _in_order(self) -> None:
        reader, courier = self._buffer.reader(), self._courier()
        at = self._buffer.checkpoint(self.name)
        try:
            while not self._stopping.is_set():
                at = max(at, self._buffer.checkpoint(self.name))  # a limit may have dropped events
                events = reader.after(at, READ)
                for step in courier.deliver(events):
                    if step.is_pause:
                        self._flush()  # `status` and `skip` look for the event that is stuck
                    elif step.refused is not None:
                        at = step.refused[0].sequence
                        self._flush()
                        self._save(Done(at, at, 0, [step.refused]))
                    else:
                        at = step.sent[-1].sequence
                        self._note(Done(step.sent[0].sequence, at, len(step.sent)))
                if not events:
                    self._rest(at, courier)
        finally:
            self._flush()
            reader.close()

    def _note(self, done: Done) -> None:
        """Saved soon: a transaction for each event would cost more than sending it."""
        before = self._unsaved
        if before is not None and done.first == before.last + 1:
            done = done._replace(first=before.first, sent=before.sent + done.sent)
        else:
            self._flush()  # what lies between may have been dropped, and was not sent
        self._unsaved = done
        if self._runtime.monotonic() - self._saved_at >= SAVE_SECONDS:
            self._flush()

    def _flush(self) -> None:
        if self._unsaved is not None:
            done, self._unsaved = self._unsaved, None
            self._save(done)

    def _save(self, done: Done) -> None:
        """What was sent must not be sent again because the disk is full for a while."""
        while True:
            try:
                self._buffer.advance(self.name, done)
                self._saved_at = self._runtime.monotonic()
                return
            except (sqlite3.Error, OSError) as error:
                logger.error("%s: the checkpoint cannot be saved now: %s", self.name, error)
                if self._runtime.wait(self._stopping, PAUSE_SECONDS):
                    return  # after the next start it is sent again

    def _rest(self, at: int, courier: Courier) -> None:
        """Nothing is new: save, send dead letters that were asked for, wait."""
        self._flush()
        self.health.head_received = None
        self._revive(courier)
        self._buffer.shelf.wait_past(at, IDLE_SECONDS)

    def _revive(self, courier: Courier) -> None:
        for letter in dead.letters(self._buffer.state, self.name, again=True, at_most=READ):
            if self._stopping.is_set() or self._buffer.lag(self.name):
                return  # fresh events go first
            answer = self._transport.send([letter.event])
            if answer.delivered:
                dead.forget(self._buffer.state, letter)
            elif answer.refused:
                why = Refusal(answer.status, answer.reason)
                dead.keep_dead(self._buffer.state, letter, why)
            else:
                self.health.failed(answer.reason)
                self._runtime.wait(self._stopping, PAUSE_SECONDS)
                return
            self.health.answered()

    # Side by side.

    def _by_run(self) -> None:
        lanes, reader, courier = Lanes(), self._buffer.reader(), self._courier()
        workers = [
            self._runtime.start(lambda: self._work(lanes), f"singerlake-lineage-lane-{number}")
            for number in range(self._transport.lanes)
        ]
        at = self._buffer.checkpoint(self.name)
        try:
            while not self._stopping.is_set():
                at = max(at, self._buffer.checkpoint(self.name)) if lanes.is_idle else at
                events = reader.after(at, READ)
                for event in events:
                    while not lanes.add(lane_of(event.event), event, SAVE_SECONDS):
                        self._settle(lanes)
                        lanes.require_sound()
                        if self._stopping.is_set():
                            return
                    at = event.sequence
                self._settle(lanes)
                lanes.require_sound()
                if not events and lanes.is_idle:
                    self._rest(at, courier)
                elif not events:
                    lanes.wait(SAVE_SECONDS)
        finally:
            lanes.close()
            for worker in workers:
                worker.join()
            self._settle(lanes)
            reader.close()

    def _work(self, lanes: Lanes) -> None:
        try:
            courier = self._courier()
            while (taken := lanes.take()) is not None:
                lane, event = taken
                for step in courier.deliver([event]):
                    if not step.is_pause:
                        lanes.done(lane, step)
                if self._stopping.is_set():
                    return
        except Exception as error:
            lanes.fail(error)

    def _settle(self, lanes: Lanes) -> None:
        while (settled := lanes.settled()) is not None:
            self._save(settled)

    def stop(self) -> None:
        """Asks only: `join` waits."""
        self._stopping.set()
        self._buffer.shelf.announce()

    def join(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()
