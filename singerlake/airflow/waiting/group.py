"""`wait_for`: a group with one task for each awaited event, so that the grid shows what misses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import TaskGroup

from singerlake.airflow.waiting.sensor import EventsSensor
from singerlake.errors import ConfigError
from singerlake.wait.event import Awaited, require_names
from singerlake.wait.need import ALL, Need

ENOUGH = "enough"
"""The last task of a group that does not need all of its events."""


def wait_for(
    events: Sequence[Awaited],
    deadline: datetime | timedelta | str | None = None,
    *,
    group_id: str = "wait_for",
    need: Need = ALL,
    soft_fail: bool = False,
    **more: Any,
) -> TaskGroup:
    """A group that ends once enough events are there. What `EventsSensor` takes, it takes too.

    A task succeeds when its event comes. At the deadline, tasks fail whose events are missing; with
    `soft_fail` they are skipped. Where fewer than all are needed, the tasks of the others are
    skipped once enough are there, and a last task says whether enough came.

    Raises `ConfigError`.
    """
    require_names(events)
    need.of(len(events))
    for event in events:
        if event.moves:
            raise ConfigError(
                f"{event.title!r} has a window that follows the clock, and a task that succeeded "
                "never waits again; give all events to one EventsSensor instead of wait_for"
            )
    shared: dict[str, Any] = {"deadline": deadline, "soft_fail": soft_fail, **more}
    with TaskGroup(group_id=group_id) as group:
        name = str(group.group_id)
        if need == ALL:
            for task_id, event in zip(_task_ids(events), events, strict=True):
                EventsSensor(task_id=task_id, events=[event], wait=name, **shared)
        else:
            shared |= {"events": list(events), "need": need, "wait": name}
            tasks = [
                EventsSensor(task_id=task_id, own=event.title, **shared)
                for task_id, event in zip(_task_ids(events), events, strict=True)
            ]
            enough = EventsSensor(task_id=ENOUGH, trigger_rule="all_done", **shared)
            for task in tasks:
                task >> enough
    return group


def _task_ids(events: Sequence[Awaited]) -> list[str]:
    """A title may have any character; the id of a task may not."""
    taken = {ENOUGH}
    ids = []
    for event in events:
        wanted = re.sub(r"[^A-Za-z0-9_-]+", "_", event.title).strip("_")[:100] or "event"
        number, task_id = 1, wanted
        while task_id in taken:
            number += 1
            task_id = f"{wanted}_{number}"
        taken.add(task_id)
        ids.append(task_id)
    return ids
