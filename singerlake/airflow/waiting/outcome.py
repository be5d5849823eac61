"""How a wait of a task stands, in Airflow's words: the tasks of a group share their wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from singerlake.errors import ConfigError
from singerlake.format import times
from singerlake.wait import event as events
from singerlake.wait.event import Awaited
from singerlake.wait.need import Need
from singerlake.wait.status.name import fitting
from singerlake.wait.waiter import Progress, Standing, Wait

Outcome = Literal["success", "failed", "skipped"]

POST_ID = (
    "{{ dag_run.dag_id }}/{{ dag_run.run_id }}/{{ ti.task_id }}"
    "{% if ti.map_index >= 0 %}/{{ ti.map_index }}{% endif %}"
)
"""What makes two posts of one task one, and of two mapped ones two."""

_LONGEST = 80
"""Of each part of a name: the table keeps 250 characters."""


def declared(
    name: str,
    described: Sequence[Mapping[str, Any]],
    at: str,
    since: str,
    deadline: str | None,
    need: Mapping[str, Any] | None,
) -> Wait:
    """A wait from a trigger's arguments. An event that has neither window nor place counts from
    `since` on, however often the triggerer is started anew. Raises `ConfigError`."""
    begin = moment(since, "since")
    return Wait(
        name=name,
        events=tuple(_from(event, begin) for event in events.parse(described)),
        at=moment(at, "at"),
        need=needed(need or {}),
        deadline=moment(deadline, "deadline") if deadline else None,
    )


def needed(described: Mapping[str, Any]) -> Need:
    """Raises `ConfigError`."""
    try:
        return msgspec.convert(described, Need)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"expected `need` such as Need(at_least=3), ALL or ANY, found another value: {error}"
        ) from None


def decided(progress: Progress, own: str | None, soft_fail: bool) -> Outcome | None:
    """None while it goes on. `own` is the one event of the wait that the task stands for."""
    if own is not None and any(one.event.title == own for one in progress.received):
        return "success"
    if progress.is_done:
        return "success" if own is None else "skipped"
    if progress.is_over:
        return "skipped" if soft_fail else "failed"
    return None


def shown(progress: Progress, own: str | None) -> tuple[Standing, ...]:
    """What the task writes to the table: its own event, or all."""
    return tuple(one for one in progress.standings if own in (None, one.event.title))


def arrivals(standings: Sequence[Standing]) -> dict[str, Any]:
    """For XCom: when each event came, and where a reader goes on."""
    return {
        one.event.title: {
            "time": times.rfc3339(one.arrival.time),
            "position": msgspec.to_builtins(one.arrival.position),
        }
        for one in standings
        if one.arrival is not None
    }


def missing(standings: Sequence[Standing]) -> list[str]:
    return [one.event.title for one in standings if one.arrival is None]


def complaint(progress: Progress, own: str | None, deadline: datetime | None) -> str:
    """Which events are missing, and why nobody can know of some."""
    lines = []
    for one in shown(progress, own):
        if one.arrival is None:
            why = f" ({type(one.error).__name__}: {one.error})" if one.error else ""
            lines.append(f"{one.event.title}{why}")
    by = "" if deadline is None else f" at {deadline:%Y-%m-%d %H:%M:%S} UTC"
    return f"missing{by}: {', '.join(lines)}"


def wait_name(dag_id: str, run_id: str, *rest: str) -> str:
    """The name of a wait in the table: what begins with a run's name belongs to the run."""
    return "/".join(_part(text) for text in (dag_id, run_id, *rest))


def post_header(post_id: str) -> str:
    """An id as a header: that has Latin-1 alone, and the id of a DAG any letters."""
    try:
        post_id.encode("latin-1")
    except UnicodeEncodeError:
        return fitting(quote(post_id, safe="/:+"))
    return post_id


def moment(text: str, what: str) -> datetime:
    """Raises `ConfigError`."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if found.tzinfo is not None:
            return found.astimezone(timezone.utc)
    except (ValueError, AttributeError, OverflowError):
        raise ConfigError(
            f"expected a time such as 2026-03-03T06:00:00+00:00 as `{what}`, found {text!r:.80}"
        ) from None
    raise ConfigError(f"expected a time with a zone as `{what}`, found {text}")


def _from(event: Awaited, begin: datetime) -> Awaited:
    """Every event has these; the two of the lake and Kafka have places, too."""
    has_place = any(getattr(event, name, None) is not None for name in ("after", "sequence"))
    if event.window is not None or has_place or getattr(event, "since", None) is not None:
        return event
    return msgspec.structs.replace(event, since=begin)


def _part(text: str) -> str:
    name = quote(text, safe=" :+~@,")
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 17]}~{sha256(text.encode()).hexdigest()[:16]}"
