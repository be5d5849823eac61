"""Airflow: waits that hold no worker, and DAGs that commits start. Needs Airflow 3.3."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singerlake.airflow.group import wait_for
    from singerlake.airflow.sensor import EventsSensor
    from singerlake.airflow.trigger import EventsTrigger

_HOMES = {
    "EventsSensor": "sensor",
    "EventsTrigger": "trigger",
    "wait_for": "group",
}

__all__ = ["EventsSensor", "EventsTrigger", "wait_for"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
