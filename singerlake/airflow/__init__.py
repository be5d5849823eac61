"""Airflow: waits that hold no worker, and DAGs that commits start. Needs Airflow 3.3."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singerlake.airflow.commits import new_commits
    from singerlake.airflow.group import wait_for
    from singerlake.airflow.mail import StatusEmailOperator, StatusNotifier
    from singerlake.airflow.mark import MarkEventOperator
    from singerlake.airflow.sensor import EventsSensor
    from singerlake.airflow.trigger import EventsTrigger
    from singerlake.airflow.watcher import CommitWatcher, commits_of

_HOMES = {
    "CommitWatcher": "watcher",
    "EventsSensor": "sensor",
    "EventsTrigger": "trigger",
    "MarkEventOperator": "mark",
    "StatusEmailOperator": "mail",
    "StatusNotifier": "mail",
    "commits_of": "watcher",
    "new_commits": "commits",
    "wait_for": "group",
}

__all__ = [
    "CommitWatcher",
    "EventsSensor",
    "EventsTrigger",
    "MarkEventOperator",
    "StatusEmailOperator",
    "StatusNotifier",
    "commits_of",
    "new_commits",
    "wait_for",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
