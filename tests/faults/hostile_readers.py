"""The readers of a lake, in this process: each reads all there is, or raises what it raises."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from singerlake import check
from singerlake.lake import Bookmark, CheckReport, Level, LockTimes, open_lake
from singerlake.spark.plan import FilesPartition
from singerlake.spark.source import SingerlakeSource
from tap_singerlake.tap import TapSingerlake
from tests.lake.landing import STREAM, TAP

AT_ONCE = LockTimes(stale_after=0.0)


class Found(Exception):
    """What a check found, as the error that another reader would have raised."""


def by_check(root: str, since: int = 0) -> bytes:
    report: CheckReport = check(open_lake(root).store, times=AT_ONCE)
    errors = [one for one in report.findings if one.level is Level.ERROR]
    if errors:
        raise Found("; ".join(f"{one.key}: {one.message}" for one in errors))
    return repr((report.streams, report.files, report.records)).encode()


def by_tap(root: str, since: int = 0) -> bytes:
    """Everything that comes out, STATE too."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    state = None
    if since:
        log_id = open_lake(root).stream(TAP, STREAM).snapshot().manifest.log_id
        place = Bookmark(log_id, since)
        state = {"bookmarks": {STREAM: {"log_id": place.log_id, "sequence": place.sequence}}}
    with redirect_stdout(printed):
        TapSingerlake(config={"lake_root": root}, state=state).sync_all()
        printed.flush()
    return printed.buffer.getvalue()


def by_spark(root: str, since: int = 0) -> bytes:
    """The source as Spark calls it, without Spark: the plan, then each of its tasks."""
    options: dict[str, Any] = {"path": root, "tap": TAP, "stream": STREAM, "metadata": "true"}
    source = SingerlakeSource({**options, "since": str(since)})
    schema = source.schema()
    reader = source.reader(schema)
    rows = []
    for partition in reader.partitions():
        assert isinstance(partition, FilesPartition)
        rows += [batch.to_pylist() for batch in reader.read(partition)]
    return repr(rows).encode()


READERS: dict[str, Callable[..., bytes]] = {"check": by_check, "tap": by_tap, "Spark": by_spark}
