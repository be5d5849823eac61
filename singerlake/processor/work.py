"""The work on one grant: calls of the job, and what became of them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from singerlake.errors import Later
from singerlake.processor.engine.values import Entry, Grant, Outcome, What
from singerlake.processor.event import Event, Lease, decode_value

if TYPE_CHECKING:
    from singerlake.processor.processor import Processor

logger = logging.getLogger("singerlake.processor")

SLICE = 0.25
"""Seconds of a key before others get their turn; what is done until then is acknowledged."""


class Work:
    """`done` is how many events of the grant are processed; whoever stops the processor reads it
    from another thread."""

    def __init__(self, processor: Processor, grant: Grant) -> None:
        self.grant, self.done = grant, 0
        self.lease = Lease(grant.key, grant.token)
        self._processor = processor
        self._kept: bytes | None = None
        self._lock, self._over = threading.Lock(), False
        self._is_poll = processor.is_poll(grant.key)

    def run(self) -> Outcome | None:
        """What to report; None where somebody else has reported it."""
        try:
            what = self._call()
        except Later as error:
            outcome = self._put_back(error.seconds, "again" if self._is_poll else "later")
        except (Exception, asyncio.CancelledError, SystemExit) as error:
            outcome = self._failure(error)
        else:
            if self._processor.outage.succeeded():
                logger.warning("the outage is over: key %s was processed", self.grant.key)
            outcome = self._outcome(what)
        return outcome if self._finish() else None

    def give_back(self) -> Outcome | None:
        """Acknowledge what is done, and let the rest go without counting; from another thread."""
        if not self._finish():
            return None
        self.lease.lost = True
        return self._outcome("later")

    def _finish(self) -> bool:
        with self._lock:
            first, self._over = not self._over, True
            return first

    # Calls

    def _call(self) -> What:
        job, grant, options = self._processor.job, self.grant, self._processor.options
        if self._is_poll and self._processor.source is not None:
            self._processor.source.poll()
        if grant.starts and job.start is not None:
            job.start(grant.key)
        entries = grant.entries
        if options.coalesce:
            event = self._event(entries[-1], grant.deliveries)
            event.coalesced = len(entries) - 1
            return self._one(event, len(entries))
        if job.many is not None:
            events = [self._event(entry, grant.deliveries) for entry in entries]
            completed = job.many(grant.key, events)
            self._keep(events[-1])
            self._advance(len(entries))
            return "end" if completed is True else "more"
        return self._one_by_one(entries)

    def _one_by_one(self, entries: tuple[Entry, ...]) -> What:
        runtime, stopping = self._processor.engine.runtime, self._processor.stopping
        end = runtime.monotonic() + SLICE
        deliveries = self.grant.deliveries
        for entry in entries:
            if self._one(self._event(entry, deliveries), 1) == "end":
                return "end"
            if stopping.is_set() or self.lease.lost or runtime.monotonic() > end:
                return "rest"
            deliveries = 1
        return "more"

    def _one(self, event: Event, stands_for: int) -> What:
        job = self._processor.job
        if job.one is not None:
            completed = job.one(event)
        else:
            completed = job.many is not None and job.many(self.grant.key, [event])
        self._keep(event)
        self._advance(stands_for)
        return "end" if completed is True else "more"

    def _advance(self, count: int) -> None:
        self.done += count
        self._processor.observer.count("done", count)

    def _keep(self, event: Event) -> None:
        if event.kept is not None:
            self._kept = event.kept

    def _event(self, entry: Entry, deliveries: int) -> Event:
        grant = self.grant
        log_id, _, sequence = entry.source.rpartition(":")
        # A coalesced event stands for those before it: its progress is kept at the head of them.
        owner = grant.entries[0] if self._processor.options.coalesce else entry
        progress: Callable[[bytes], bool] = partial(
            self._processor.engine.progress, grant.key, grant.token, owner.position
        )
        value = decode_value(entry.value)
        kept = grant.state if self._kept is None else self._kept
        is_head = owner is grant.entries[0]
        return Event(
            key=grant.key,
            value=value,
            position=entry.position,
            token=grant.token,
            deliveries=deliveries,
            id=entry.id,
            log_id=log_id,
            sequence=int(sequence or 0),
            logs=value.get("logs", {}) if log_id else {},
            state=decode_value(kept),
            progressed=decode_value(grant.progress) if is_head else None,
            lease=self.lease,
            _progress=progress,
        )

    # Outcomes

    def _outcome(self, what: What, delay: float = 0.0, error: str = "") -> Outcome:
        done, entries = self.done, self.grant.entries
        position = entries[done - 1].position if done else 0
        key, token = self.grant.key, self.grant.token
        return Outcome(
            key,
            token,
            what,
            done,
            position,
            delay,
            error,
            self._kept,
            singly=not self._processor.options.coalesce,
            has_more=self.grant.has_more,
            sticky=max(60.0, 3 * delay) if self._is_poll else None,
        )

    def _put_back(self, delay: float, what: What = "later") -> Outcome:
        if not self._is_poll:
            self._processor.observer.count("later")
        return self._outcome(what, max(delay, 0.0))

    def _failure(self, error: BaseException) -> Outcome:
        processor, key = self._processor, self.grant.key
        text = f"{type(error).__name__}: {error}"
        if processor.stopping.is_set():
            return self._put_back(0.0)
        is_outage = self._is_outage(text)
        if processor.options.at_most_once:
            processor.observer.count("dead")
            logger.error("key %s: an event failed, and is not tried again: %s", key, text)
            return self._outcome("rest")
        if is_outage:
            return self._put_back(processor.options.backoff)
        deliveries = self.grant.deliveries if self.done == 0 else 1
        if deliveries >= processor.options.max_deliveries:
            processor.observer.count("dead")
            logger.error("key %s: dead letter after %d deliveries: %s", key, deliveries, text)
            return self._outcome("dead", error=text)
        processor.observer.count("retried")
        delay = processor.options.backoff_after(deliveries)
        logger.warning(
            "key %s: delivery %d failed, again in %g s: %s", key, deliveries, delay, text
        )
        return self._outcome("fail", delay, text)

    def _is_outage(self, text: str) -> bool:
        """Whether this failure is a part of an outage; its first one is reported."""
        outage, observer = self._processor.outage, self._processor.observer
        began = not outage.lasts
        if not outage.failed(self.grant.key):
            return False
        if began:
            observer.count("outages")
            logger.error(
                "%d keys in a row failed: this is an outage. One event at a time is tried, and no "
                "attempt counts, until one succeeds. The last error: %s",
                self._processor.options.outage_keys,
                text,
            )
        return True
