"""Where the format meets the store: writing, reading, locking, checking and rebuilding a lake."""

from singerlake.lake.check import check
from singerlake.lake.feed.bookmark import Bookmark
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
    "Finding",
    "Flush",
    "Lake",
    "Level",
    "LockTimes",
    "RebuildReport",
    "Run",
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
