"""From a request to the buffer: checked, written, and only then answered."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from singerlake.errors import BusyError, SingerlakeError
from singerlake.http.answer import Problem as HttpProblem
from singerlake.lineage.buffer.buffer import Buffer
from singerlake.lineage.buffer.waiting import Outcome
from singerlake.lineage.proxy.failed import FailedEventHandler
from singerlake.lineage.proxy.meters import Meters
from singerlake.lineage.schema.problem import Problem
from singerlake.lineage.schema.validator import Validator

logger = logging.getLogger(__name__)

RETRY_AFTER = (b"retry-after", b"5")

Reply = asyncio.Future[Outcome]

AT_ONCE_BYTES = 100_000
"""A batch of megabytes takes as long as many commits."""

_NOT_KEPT = "the event cannot be kept now: send it again later"


class Intake:
    """For the event loop's thread, which has to be one with a large stack."""

    def __init__(
        self, buffer: Buffer, validator: Validator, failed: FailedEventHandler, meters: Meters
    ) -> None:
        self._buffer, self._validator = buffer, validator
        self._failed, self._meters = failed, meters
        self._arriving = self._waiting = 0
        self._settled: deque[tuple[Reply, Outcome]] = deque()
        self.unavailable = ""
        """Why the last write failed, until a write succeeds."""

    def problems(self, event: bytes) -> list[Problem]:
        """What is wrong with an event; the handler gets it, where something is."""
        self._meters.received.inc()
        before = self._validator.fallbacks
        _, found = self._validator.parse(event)
        if self._validator.fallbacks != before:
            self._meters.fallbacks.inc(self._validator.fallbacks - before)
        if found:
            self._meters.invalid.inc()
            try:
                self._failed.handle(event, found)
            except Exception:  # a user's own, or a full disk: the sender gets its answer
                logger.exception("the handler of failed events failed")
        return found

    async def keep(self, events: Sequence[bytes]) -> None:
        """Returns once they are safe on the disk. Raises `Problem` 503 where they cannot be.

        Who comes alone, with little, is written for at once: to wake the writer, and to be woken by
        it, takes as long as the disk does. All others share a commit.
        """
        self._arriving += 1
        try:
            await asyncio.sleep(0)  # whoever comes at the same moment is counted, too
            at_once = self._arriving == 1 and not self._waiting and _are_small(events)
        finally:
            self._arriving -= 1
        outcome = self._buffer.put_now(events) if at_once else None
        if outcome is None:
            outcome = await self._shared(events)
        else:
            self._note(outcome)
        if isinstance(outcome, Exception):
            raise HttpProblem(503, "Unavailable", _NOT_KEPT, [RETRY_AFTER])
        self._meters.written.inc(len(events))

    async def _shared(self, events: Sequence[bytes]) -> Outcome:
        loop = asyncio.get_running_loop()
        reply: Reply = loop.create_future()

        def done(outcome: Outcome) -> None:
            """On the writer's thread: the loop is woken once for a whole group."""
            self._settled.append((reply, outcome))
            if len(self._settled) == 1:
                try:
                    loop.call_soon_threadsafe(self._settle)
                except RuntimeError:
                    return  # the loop was closed: nobody waits any more

        try:
            self._buffer.submit(events, done)
        except BusyError as error:
            self._meters.refused.inc(len(events))
            raise HttpProblem(503, "Busy", str(error), [RETRY_AFTER]) from None
        # Until they are written, whether or not somebody waits for the answer: none overtakes them.
        self._waiting += 1
        return await reply

    def _settle(self) -> None:
        while self._settled:
            reply, outcome = self._settled[0]
            self._waiting -= 1
            self._note(outcome)
            if not reply.done():
                reply.set_result(outcome)
            # Taken last: while it is here, the writer's thread need not wake the loop again.
            self._settled.popleft()

    def try_again(self) -> None:
        """Find out whether events can be written again; from another thread. A proxy that is not
        ready gets none from a balancer, so that none would ever tell."""
        if self.unavailable:
            with suppress(SingerlakeError):
                self._buffer.put([])
                self.unavailable = ""

    def _note(self, outcome: Outcome) -> None:
        if isinstance(outcome, Exception):
            self.unavailable = str(outcome)
            self._meters.refused.inc()
        else:
            self.unavailable = ""


def _are_small(events: Sequence[bytes]) -> bool:
    return sum(map(len, events)) <= AT_ONCE_BYTES
