"""The trigger of a wait: it looks in Airflow's triggerer until the wait ends, and ends the task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from airflow.triggers.base import (
    BaseTrigger,
    TaskFailedEvent,
    TaskSkippedEvent,
    TaskSuccessEvent,
    TriggerEvent,
)

from singerlake.airflow import table
from singerlake.airflow.waiting import outcome
from singerlake.airflow.waiting.sources import shared
from singerlake.errors import ConfigError, SingerlakeError
from singerlake.runtime import REAL
from singerlake.wait.status.mirror import Mirror
from singerlake.wait.waiter import Progress, Standing, Wait, Waiter, given_up

INTERVAL = 5.0
"""Seconds between two looks."""


class EventsTrigger(BaseTrigger):
    """Ends its task as succeeded, failed or skipped, without a worker.

    `events` are described as JSON (`singerlake.wait.event.to_json`). `at` is the wait's own time,
    whose windows count; `since` is where events without a window begin; `deadline` is absolute. All
    of them may be templates. `own` names the one event that the task stands for, where the tasks of
    a group share one wait.
    """

    def __init__(
        self,
        *,
        events: Sequence[Mapping[str, Any]],
        at: str,
        since: str,
        deadline: str | None = None,
        need: Mapping[str, Any] | None = None,
        wait: str = "",
        own: str | None = None,
        soft_fail: bool = False,
        interval: float = INTERVAL,
    ) -> None:
        super().__init__()
        self.events, self.at, self.since, self.deadline = events, at, since, deadline
        self.need, self.wait, self.own = need, wait, own
        self.soft_fail, self.interval = soft_fail, interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("events", "at", "since", "deadline", "need", "wait", "own", "soft_fail")
        kwargs = {name: getattr(self, name) for name in names}
        return f"{__name__}.EventsTrigger", {**kwargs, "interval": self.interval}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            wait = self.declared()
        except (SingerlakeError, TypeError) as error:
            self.log.error("%s: %s", type(error).__name__, error)
            yield TaskFailedEvent(xcoms={"error": str(error)})
            return
        waiter, seen = Waiter(wait), _Seen(self, wait)
        await seen.remind(waiter)
        while True:
            progress = await self.look(waiter)
            ended = outcome.decided(progress, self.own, self.soft_fail)
            standings = outcome.shown(progress, self.own)
            await seen.show(standings if ended is None else given_up(standings))
            if ended is not None:
                yield self._event(ended, progress, wait)
                return
            await asyncio.sleep(self._pause(wait))

    def declared(self) -> Wait:
        """What is awaited, once templates are rendered. Raises `ConfigError`."""
        if not self.interval > 0:
            raise ConfigError(f"expected an interval above 0 seconds, found {self.interval}")
        name, ti = f"test/{self.wait}", self.task_instance
        if ti is not None:
            name = task_wait_name(ti.dag_id, ti.run_id, self.wait or ti.task_id, ti.map_index)
        return outcome.declared(name, self.events, self.at, self.since, self.deadline, self.need)

    async def look(self, waiter: Waiter) -> Progress:
        """Ask the sources once, together with all others who ask now."""
        now = REAL.now()
        answers = await shared().ask(waiter.questions(now), self.interval)
        return waiter.take(answers, now)

    def _pause(self, wait: Wait) -> float:
        """Until the next tick, which all waits share, or the deadline."""
        pause = self.interval - REAL.monotonic() % self.interval
        if wait.deadline is None:
            return pause
        return max(0.0, min(pause, (wait.deadline - REAL.now()).total_seconds()))

    def _event(self, ended: str, progress: Progress, wait: Wait) -> TriggerEvent:
        standings = outcome.shown(progress, self.own)
        received = outcome.arrivals(standings)
        if ended == "success":
            return TaskSuccessEvent(xcoms={"return_value": received})
        xcoms = {"received": received, "missing": outcome.missing(standings)}
        if progress.is_done:
            self.log.info("enough of the other events are there")
        else:
            self.log.error(outcome.complaint(progress, self.own, wait.deadline))
        return TaskSkippedEvent(xcoms=xcoms) if ended == "skipped" else TaskFailedEvent(xcoms=xcoms)


class _Seen:
    """Logs what is new, and has the table show it. The table may be away."""

    def __init__(self, trigger: EventsTrigger, wait: Wait) -> None:
        self._log, self._wait = trigger.log, wait
        self._mirror: Mirror | None = None
        self._said: dict[str, str] = {}
        self._is_away = False

    async def remind(self, waiter: Waiter) -> None:
        """After a restart: of what had come before it."""
        try:
            waiter.remember(
                await table.in_thread(lambda: Mirror(table.store(), self._wait).known())
            )
        except SingerlakeError as error:
            self._log.warning("the table of awaited events cannot be read: %s", error)
            self._is_away = True

    async def show(self, standings: Sequence[Standing]) -> None:
        for one in standings:
            self._say(one)
        try:
            await table.in_thread(lambda: self._write(standings))
            self._is_away = False
        except SingerlakeError as error:
            if not self._is_away:
                self._log.warning("the table of awaited events is behind: %s", error)
            self._is_away = True

    def _write(self, standings: Sequence[Standing]) -> None:
        if self._mirror is None:
            self._mirror = Mirror(table.store(), self._wait)
        self._mirror.show(standings)

    def _say(self, one: Standing) -> None:
        text = "waiting"
        if one.arrival is not None:
            text = f"received, {one.arrival.text}"
        elif one.error is not None:
            text = f"{type(one.error).__name__}: {one.error}"
        if self._said.get(one.event.title) != text:
            self._said[one.event.title] = text
            self._log.info("%s: %s", one.event.title, text)


def task_wait_name(dag_id: str, run_id: str, task: str, map_index: int | None) -> str:
    """Each of the tasks that Airflow made of one has a wait of its own."""
    rest = [task] if map_index in (None, -1) else [task, str(map_index)]
    return outcome.wait_name(dag_id, run_id, *rest)
