"""One wait for several events: runs and commits of a lake, posts, messages."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singerlake.wait.arrival import Arrival
    from singerlake.wait.event import HttpEvent, KafkaEvent, LakeCommit, LakeRun, OwnEvent
    from singerlake.wait.need import ALL, ANY, Need
    from singerlake.wait.waiter import Progress, Wait, Waiter
    from singerlake.wait.window import Sliding, Span, Window

_HOMES = {
    "ALL": "need",
    "ANY": "need",
    "Arrival": "arrival",
    "HttpEvent": "event",
    "KafkaEvent": "event",
    "LakeCommit": "event",
    "LakeRun": "event",
    "Need": "need",
    "OwnEvent": "event",
    "Progress": "waiter",
    "Sliding": "window",
    "Span": "window",
    "Wait": "waiter",
    "Waiter": "waiter",
    "Window": "window",
}

__all__ = [
    "ALL",
    "ANY",
    "Arrival",
    "HttpEvent",
    "KafkaEvent",
    "LakeCommit",
    "LakeRun",
    "Need",
    "OwnEvent",
    "Progress",
    "Sliding",
    "Span",
    "Wait",
    "Waiter",
    "Window",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
