"""Where streams and runs end now: a cursor after everything, without the events in between."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from itertools import islice

from singerlake.errors import MissingManifest, NotFound
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.lake import log as manifest_log
from singerlake.lake import snapshot as snapshots
from singerlake.lake.feed import position, run_end
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.cursor import Cursor, StreamKey
from singerlake.lake.feed.directory import Directory
from singerlake.lake.feed.feed import BATCH
from singerlake.lake.feed.follower import Follower, Look
from singerlake.lake.runs import log as run_logs
from singerlake.lake.snapshot import Snapshot


class Ends:
    """The ends of all streams and runs, or of those of these taps and streams. For one thread.

    Asked again, it requests only what is due (`FeedOptions`): it may be asked as often as one
    likes.
    """

    def __init__(
        self,
        follower: Follower,
        taps: Collection[str] | None = None,
        streams: Collection[str] | None = None,
    ) -> None:
        self._follower = follower
        self._directory = Directory(follower, taps, streams, Cursor())
        self._seen: dict[str, tuple[int, Bookmark]] = {}

    def streams(self) -> dict[StreamKey, Bookmark]:
        """The end of each stream that has a commit.

        Raises `DamageError`: a stream that cannot be read is not left out.
        """
        self._discover()
        found: dict[StreamKey, Bookmark] = {}
        manifests = iter(self._directory.manifests.items())
        while batch := list(islice(manifests, BATCH)):
            looks = self._follower.look([key for _, key in batch])
            for keys, key in batch:
                end = self._end(key, looks[key], partial(self._end_of_stream, keys))
                if end.sequence:
                    found[keys.tap_id, keys.stream] = end
        return found

    def runs(self) -> dict[str, Bookmark]:
        """The end of the run log of each tap that has one. Raises `DamageError`."""
        self._discover()
        keys = {tap: RunKeys(tap) for tap in self._directory.taps}
        looks = self._follower.look([one.log for one in keys.values()])
        ends = {
            tap: self._end(one.log, looks[one.log], partial(self._end_of_runs, one))
            for tap, one in keys.items()
        }
        return {tap: end for tap, end in ends.items() if end.sequence}

    def _discover(self) -> None:
        for error in self._directory.refresh().values():
            if error is not None:
                raise error

    def _end(self, key: str, look: Look, end_of: Callable[[Look], Bookmark]) -> Bookmark:
        """Made anew only where the document changed."""
        change, end = self._seen.get(key, (-1, START))
        if change != look.change:
            if look.error is not None and not isinstance(look.error, NotFound):
                raise look.error
            end = end_of(look)
            self._seen[key] = look.change, end
        return end

    def _end_of_stream(self, keys: StreamKeys, look: Look) -> Bookmark:
        store = self._follower.store
        if look.error is None:
            manifest = manifest_log.decode(store, keys, self._follower.read(keys.manifest))
            return position.end_of(Snapshot(store, keys, manifest))
        if snapshots.list_files(store, keys):
            raise MissingManifest(
                f"{store.url}/{keys.manifest}: there are files and no manifest, and only the "
                "manifest knows what was committed; `singerlake rebuild` makes it again"
            )
        return START  # registered, and nothing is committed yet

    def _end_of_runs(self, keys: RunKeys, look: Look) -> Bookmark:
        store = self._follower.store
        if look.error is not None:
            return START  # nothing has ended yet
        log = run_logs.decode(store, keys, self._follower.read(keys.log))
        last = next(run_logs.rows(store, keys, log, log.last_number - 1), None)
        return Bookmark(log.log_id, 0) if last is None else run_end.after(log, last)
