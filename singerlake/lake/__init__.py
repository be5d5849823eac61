"""Where the format meets the store: writing, reading, locking, checking and rebuilding a lake."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singerlake.format.manifest import File
    from singerlake.lake.checking import check
    from singerlake.lake.feed.bookmark import Bookmark
    from singerlake.lake.feed.cursor import Cursor
    from singerlake.lake.feed.event import (
        Committed,
        Event,
        Failed,
        Lost,
        Renumbered,
        Replaced,
        RunEnded,
    )
    from singerlake.lake.feed.feed import Feed
    from singerlake.lake.feed.follower import Follower
    from singerlake.lake.feed.increment import Increment
    from singerlake.lake.feed.options import FeedOptions
    from singerlake.lake.finding import CheckReport, Finding, Level
    from singerlake.lake.lake import Lake, Stream, Tap, open_lake, open_on
    from singerlake.lake.lane import Flush
    from singerlake.lake.lock import LockTimes
    from singerlake.lake.log import Selection
    from singerlake.lake.rebuild_report import RebuildReport
    from singerlake.lake.rebuilding import rebuild
    from singerlake.lake.runs import Run, newest_complete
    from singerlake.lake.snapshot import Snapshot
    from singerlake.lake.writer import Writer
    from singerlake.lake.writer_options import WriterOptions

__all__ = [
    "Bookmark",
    "CheckReport",
    "Committed",
    "Cursor",
    "Event",
    "Failed",
    "Feed",
    "FeedOptions",
    "File",
    "Finding",
    "Flush",
    "Follower",
    "Increment",
    "Lake",
    "Level",
    "LockTimes",
    "Lost",
    "RebuildReport",
    "Renumbered",
    "Replaced",
    "Run",
    "RunEnded",
    "Selection",
    "Snapshot",
    "Stream",
    "Tap",
    "Writer",
    "WriterOptions",
    "check",
    "newest_complete",
    "open_lake",
    "open_on",
    "rebuild",
]

_HOMES = {
    "Bookmark": "singerlake.lake.feed.bookmark",
    "CheckReport": "singerlake.lake.finding",
    "Committed": "singerlake.lake.feed.event",
    "Cursor": "singerlake.lake.feed.cursor",
    "Event": "singerlake.lake.feed.event",
    "Failed": "singerlake.lake.feed.event",
    "Feed": "singerlake.lake.feed.feed",
    "FeedOptions": "singerlake.lake.feed.options",
    "File": "singerlake.format.manifest",
    "Finding": "singerlake.lake.finding",
    "Flush": "singerlake.lake.lane",
    "Follower": "singerlake.lake.feed.follower",
    "Increment": "singerlake.lake.feed.increment",
    "Lake": "singerlake.lake.lake",
    "Level": "singerlake.lake.finding",
    "LockTimes": "singerlake.lake.lock",
    "Lost": "singerlake.lake.feed.event",
    "RebuildReport": "singerlake.lake.rebuild_report",
    "Renumbered": "singerlake.lake.feed.event",
    "Replaced": "singerlake.lake.feed.event",
    "Run": "singerlake.lake.runs",
    "RunEnded": "singerlake.lake.feed.event",
    "Selection": "singerlake.lake.log",
    "Snapshot": "singerlake.lake.snapshot",
    "Stream": "singerlake.lake.lake",
    "Tap": "singerlake.lake.lake",
    "Writer": "singerlake.lake.writer",
    "WriterOptions": "singerlake.lake.writer_options",
    "check": "singerlake.lake.checking",
    "newest_complete": "singerlake.lake.runs",
    "open_lake": "singerlake.lake.lake",
    "open_on": "singerlake.lake.lake",
    "rebuild": "singerlake.lake.rebuilding",
}


def __getattr__(name: str) -> Any:
    """Loads a name's module when it is used: a command that lists streams needs no writer."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
