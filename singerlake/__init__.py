"""Singerlake: the raw data lake for Singer.

from singerlake import open_lake

lake = open_lake("s3://bucket/lake")
for record in lake.stream("tap-x--meltano", "orders").snapshot().records():
    ...
"""

from typing import TYPE_CHECKING, Any

from singerlake.errors import SingerlakeError

if TYPE_CHECKING:
    from singerlake.lake import (
        Bookmark,
        Committed,
        Cursor,
        Event,
        Failed,
        Feed,
        FeedOptions,
        File,
        Follower,
        Increment,
        Lake,
        Lost,
        Renumbered,
        Replaced,
        RunEnded,
        Selection,
        Snapshot,
        Stream,
        Tap,
        Writer,
        WriterOptions,
        check,
        open_lake,
        rebuild,
    )

__all__ = [
    "Bookmark",
    "Committed",
    "Cursor",
    "Event",
    "Failed",
    "Feed",
    "FeedOptions",
    "File",
    "Follower",
    "Increment",
    "Lake",
    "Lost",
    "Renumbered",
    "Replaced",
    "RunEnded",
    "Selection",
    "SingerlakeError",
    "Snapshot",
    "Stream",
    "Tap",
    "Writer",
    "WriterOptions",
    "check",
    "open_lake",
    "rebuild",
]


def __getattr__(name: str) -> Any:
    """Loads the lake when it is used: `singerlake --help` needs none, and should be quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from singerlake import lake

    return getattr(lake, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
