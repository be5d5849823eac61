"""Where the format meets the store: writing, reading, locking, checking and rebuilding a lake."""

from singerlake.format.manifest import File
from singerlake.lake.check import check
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
from singerlake.lake.rebuild import rebuild
from singerlake.lake.rebuild_report import RebuildReport
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
