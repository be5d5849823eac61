"""A slot: one thread of a processor, which has one key at a time."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from singerlake.errors import SingerlakeError
from singerlake.processor.engine.values import Grant, Outcome, Slot, Turn
from singerlake.processor.work import SLICE, Work

if TYPE_CHECKING:
    from singerlake.processor.processor import Processor

logger = logging.getLogger("singerlake.processor")

POLL_SECONDS = 5.0
"""How long an idle processor waits for news before it looks by itself."""

SWEEP_SECONDS = 0.02
"""How often a busy slot runs timers that are due."""

STAY = 16
"""Turns in a row in one shard, before the next one is looked at."""


class SlotLoop:
    """Takes a key, works, reports the outcome with the request for the next."""

    def __init__(self, processor: Processor, number: int) -> None:
        self._processor, self._slot = processor, Slot(processor.client, number)
        self._engine, self._runtime = processor.engine, processor.engine.runtime
        self._shard = number % self._engine.shards
        self._stayed, self._swept, self._began = 0, 0.0, 0.0
        self.work: Work | None = None

    def run(self) -> None:
        """Until the processor stops."""
        grant: Grant | None = None
        outcome: Outcome | None = None
        at_most_once = self._processor.terms.at_most_once
        while not self._processor.stopping.is_set():
            if grant is not None and self._processor.outage.lasts and not at_most_once:
                # It came as the outage began: its lease would end while this slot waits.
                self._settle(Outcome(grant.key, grant.token, "later"))
                grant = None
            probes, tried = grant is None and self._processor.outage.enter(), False
            try:
                if grant is None:
                    grant, self._began = self._next(), self._runtime.monotonic()
                if grant is None:
                    continue
                tried = not self._processor.is_poll(grant.key)
                outcome = self._process(grant)
            finally:
                if probes:
                    self._processor.outage.leave(tried)
            grant = None if outcome is None else self._report(outcome)
        if grant is not None:
            self._settle(Outcome(grant.key, grant.token, "later"))

    def _process(self, grant: Grant) -> Outcome | None:
        work = self.work = Work(self._processor, grant)
        self._processor.renewal.hold(work.lease)
        try:
            return work.run()
        finally:
            self._processor.renewal.let_go(work.lease)
            self.work = None

    def _report(self, outcome: Outcome) -> Grant | None:
        """Settle the outcome, and take what comes next in the same step."""
        processor = self._processor
        stays = self._engine.shards == 1 or self._stayed < STAY
        claims = stays and not processor.stopping.is_set() and not processor.outage.lasts
        now = self._runtime.monotonic()
        # A key that never runs dry takes its turn again behind those that wait.
        if outcome.what == "more" and (not claims or now - self._began > SLICE):
            outcome = replace(outcome, what="rest")
        found = self._settle(outcome, claims)
        if outcome.what != "more" or found.grant is None or found.grant.key != outcome.key:
            self._began = now
        self._stayed = self._stayed + 1 if found.grant is not None else 0
        return found.grant

    def _settle(self, outcome: Outcome, claim: bool = False) -> Turn:
        now, shard = self._runtime.monotonic(), self._engine.shard_of(outcome.key)
        sweep = now - self._swept > SWEEP_SECONDS
        if sweep:
            self._swept = now
        found = self._engine.turn(
            shard, self._slot, self._processor.terms, outcome, claim=claim, sweep=sweep
        )
        if found.lost:
            self._processor.fenced(outcome.key, outcome.token)
        self._count(found)
        return found

    def _count(self, found: Turn) -> None:
        if found.expired:
            self._processor.observer.count("expired", found.expired)

    def _next(self) -> Grant | None:
        """Look into every shard. Where nothing is found, one slot waits for all of them."""
        with self._processor.idle:
            waits = []
            for _ in range(self._engine.shards):
                if self._processor.stopping.is_set():
                    return None
                self._shard = (self._shard + 1) % self._engine.shards
                found = self._engine.turn(
                    self._shard, self._slot, self._processor.terms, announce=True
                )
                self._count(found)
                if found.grant is not None:
                    return found.grant
                if found.wait is not None:
                    waits.append(found.wait)
            if not self._processor.stopping.is_set():
                self._processor.listener.wait(min([*waits, POLL_SECONDS]))
        return None

    def give_back(self) -> None:
        """Let the key go that this slot works on; from another thread."""
        work = self.work
        if work is None:
            return
        outcome = work.give_back()
        if outcome is not None:
            self._processor.renewal.let_go(work.lease)
            try:
                self._settle(outcome)
            except SingerlakeError as error:
                logger.warning("key %s goes on after its lease: %s", outcome.key, error)
