"""`EventsSensor`: one task that waits for several events, and holds no worker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from airflow.exceptions import AirflowException, AirflowSkipException
from airflow.sdk import BaseOperator
from airflow.triggers.base import StartTriggerArgs

from singerlake.airflow.waiting import outcome
from singerlake.airflow.waiting.trigger import INTERVAL, EventsTrigger
from singerlake.errors import ConfigError
from singerlake.wait import event as parsing
from singerlake.wait.event import Awaited
from singerlake.wait.need import ALL, Need
from singerlake.wait.waiter import Progress, Waiter

LOGICAL_DATE = "{{ (dag_run.logical_date or dag_run.run_after).isoformat() }}"
RUN_AFTER = "{{ dag_run.run_after.isoformat() }}"
TRIGGER = "singerlake.airflow.waiting.trigger.EventsTrigger"


class EventsSensor(BaseOperator):
    """Waits for events in the triggerer, from its start to its end.

    :param events: what is awaited: `LakeRun`, `LakeCommit`, `HttpEvent`, `KafkaEvent`, or their
        JSON, in which every text may be a template. (templated)
    :param deadline: a time, a template of one, or how long after the run was due (its
        `run_after`). Restarts and retries do not extend it. Without it, the task waits for ever.
        (templated)
    :param need: how many events have to be there: `ALL`, `ANY`, `Need(at_least=3)`.
    :param soft_fail: skip the task at the deadline, instead of failing it.
    :param at: the wait's own time, whose windows count; the logical date by default. (templated)
    :param since: from when on an event without a window counts; when the run was due, by default.
        (templated)
    :param interval: seconds between two looks.
    :param wait: the name under which the table shows the wait in its run; that of the task by
        default.
    :param own: the title of the one event that the task stands for, where several tasks share one
        wait: `wait_for` makes these. (templated, as the title is)

    A task that Airflow maps, and one whose events come from another task, begins on a worker for a
    moment: only there are its arguments known.
    """

    template_fields: Sequence[str] = ("events", "at", "since", "deadline", "own")
    ui_color = "#dbeafe"

    def __init__(
        self,
        *,
        events: Sequence[Awaited | Mapping[str, Any]],
        deadline: datetime | timedelta | str | None = None,
        need: Need | Mapping[str, Any] = ALL,
        soft_fail: bool = False,
        at: datetime | str = LOGICAL_DATE,
        since: datetime | str = RUN_AFTER,
        interval: float = INTERVAL,
        wait: str = "",
        own: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Another value than a list is the result of another task.
        described = _described(events) if isinstance(events, (list, tuple)) else None
        self.events: Any = events if described is None else described
        self.need = need if isinstance(need, Mapping) else msgspec.to_builtins(need)
        self.at, self.since = _time(at), _time(since)
        self.deadline = None if deadline is None else _deadline(deadline)
        self.soft_fail, self.interval, self.wait, self.own = soft_fail, interval, wait, own
        if described is not None:
            _require(described, self.need)
            # On the class it would also count for tasks that are mapped, whose arguments nobody
            # knows before they are on a worker.
            self.start_from_trigger = True
            self.start_trigger_args = StartTriggerArgs(
                trigger_cls=TRIGGER,
                trigger_kwargs=self._arguments(),
                next_method="execute_complete",
                next_kwargs=None,
                timeout=None,
            )

    def execute(self, context: Any) -> None:
        trigger = self._trigger()
        trigger.wait = self.wait or self.task_id  # `dag.test()` does not say whose trigger it is
        self.defer(trigger=trigger, method_name="execute_complete")

    def execute_complete(self, context: Any, event: Any = None) -> dict[str, Any]:
        """Only for `dag.test()`: elsewhere the trigger ends the task."""
        trigger = self._trigger()
        trigger.task_instance = None
        wait = trigger.declared()
        progress: Progress = asyncio.run(trigger.look(Waiter(wait)))
        ended = outcome.decided(progress, self.own, self.soft_fail)
        if ended == "success":
            return outcome.arrivals(outcome.shown(progress, self.own))
        complaint = outcome.complaint(progress, self.own, wait.deadline)
        raise AirflowSkipException(complaint) if ended == "skipped" else AirflowException(complaint)

    def _trigger(self) -> EventsTrigger:
        return EventsTrigger(**self._arguments())

    def _arguments(self) -> dict[str, Any]:
        names = ("events", "at", "since", "deadline", "need", "wait", "own", "soft_fail")
        return {**{name: getattr(self, name) for name in names}, "interval": self.interval}


def _described(events: Sequence[Awaited | Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [parsing.to_json([one])[0] if isinstance(one, Awaited) else dict(one) for one in events]


def _require(described: Sequence[Mapping[str, Any]], need: Mapping[str, Any]) -> None:
    """Refuse what can never be, as far as it is known before templates are rendered."""
    if not described:
        raise ConfigError("expected at least one event to wait for, found none")
    outcome.needed(need).of(len(described))
    if "{{" not in json.dumps(described) and "{%" not in json.dumps(described):
        parsing.require_names(parsing.parse(described))


def _time(value: datetime | str) -> str:
    if isinstance(value, str):
        return value
    if value.tzinfo is None:
        raise ConfigError(f"expected a time with a zone, found {value.isoformat()}")
    return value.isoformat()


def _deadline(value: datetime | timedelta | str) -> str:
    if not isinstance(value, timedelta):
        return _time(value)
    seconds = value.total_seconds()
    return f"{{{{ (dag_run.run_after + macros.timedelta(seconds={seconds})).isoformat() }}}}"
