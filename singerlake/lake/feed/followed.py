"""Documents as a follower saw them last: for readers that look often, and read on a change."""

from __future__ import annotations

from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.format.run_log import RunLog
from singerlake.lake import log as manifest_log
from singerlake.lake.feed.follower import Follower
from singerlake.lake.runs import log as run_logs
from singerlake.lake.snapshot import Snapshot


def snapshot(follower: Follower, keys: StreamKeys) -> Snapshot:
    """The stream at the last look; costs a request only where many others were read since.

    Raises `NotFound` and `CorruptDocument`.
    """
    manifest = manifest_log.decode(follower.store, keys, follower.read(keys.manifest))
    return Snapshot(follower.store, keys, manifest)


def run_log(follower: Follower, keys: RunKeys) -> RunLog:
    """The tap's run log at the last look; see `snapshot`."""
    return run_logs.decode(follower.store, keys, follower.read(keys.log))
