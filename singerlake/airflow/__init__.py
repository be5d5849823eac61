"""Airflow: waits that hold no worker, and DAGs that commits start. Needs Airflow 3.3."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singerlake.airflow.commits.new_commits import new_commits
    from singerlake.airflow.commits.watcher import CommitWatcher, commits_of
    from singerlake.airflow.mail import StatusEmailOperator, StatusNotifier
    from singerlake.airflow.mark import MarkEventOperator
    from singerlake.airflow.waiting.group import wait_for
    from singerlake.airflow.waiting.sensor import EventsSensor
    from singerlake.airflow.waiting.trigger import EventsTrigger

_HOMES = {
    "CommitWatcher": "commits.watcher",
    "EventsSensor": "waiting.sensor",
    "EventsTrigger": "waiting.trigger",
    "MarkEventOperator": "mark",
    "StatusEmailOperator": "mail",
    "StatusNotifier": "mail",
    "commits_of": "commits.watcher",
    "new_commits": "commits.new_commits",
    "wait_for": "waiting.group",
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
