"""What is new in one stream, look by look: one ring for all commits of a look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from singerlake.errors import MissingManifest, Unavailable, UnknownStream, UnknownTap
from singerlake.lake import Bookmark, Cursor, FeedOptions, Lake
from singerlake.lake.feed.event import Committed, Failed, Renumbered
from singerlake.lake.feed.feed import Feed

MOST_EVENTS = 1000
"""Of one look."""

MOST_SECONDS = 300.0
"""Between two tries, where something is away."""


@dataclass(frozen=True)
class Ring:
    """`payload` is what an asset's event says; `bookmark` is where the watcher stands after it.

    After a rebuild, or where an older manifest was put back, the commits have new numbers: all of
    them ring once more, and the payload says `rebuilt`.
    """

    payload: Mapping[str, Any]
    bookmark: Bookmark
    is_more: bool


class Following:
    """For one thread at a time."""

    def __init__(self, feed: Feed, tap: str, stream: str) -> None:
        self._feed, self._tap, self._stream = feed, tap, stream

    @staticmethod
    def open(
        lake: Lake, tap: str, stream: str, place: Bookmark | None, interval: float
    ) -> Following:
        """From a bookmark on, or from the beginning."""
        cursor = Cursor({} if place is None else {(tap, stream): place})
        options = FeedOptions(interval, interval)
        return Following(lake.feed(cursor, [tap], [stream], options=options), tap, stream)

    def look(self) -> Ring | None:
        """None where nothing is new. Raises `Unavailable` where nobody can know now."""
        before = self._bookmark()
        commits, rebuilt = self._take()
        if not commits:
            return None
        after = self._bookmark()
        records = [one.records for one in commits]
        payload = {
            "tap": self._tap,
            "stream": self._stream,
            "after": before.to_json(),
            "until": after.to_json(),
            "rebuilt": rebuilt,
            "commits": len({one.last_sequence for one in commits}),
            "records": None if None in records else sum(filter(None, records)),
        }
        return Ring(payload, after, len(commits) >= MOST_EVENTS)

    def _take(self) -> tuple[list[Committed], bool]:
        """The commits, and whether the numbers that were read mean something else by now.

        What came before a failure counts: the feed does not give it again.
        """
        commits: list[Committed] = []
        failure: Failed | None = None
        rebuilt = False
        for event in islice(self._feed.poll(), MOST_EVENTS):
            if isinstance(event, Committed):
                commits.append(event)
            elif isinstance(event, Failed) and event.stream:
                failure = event
            rebuilt = rebuilt or isinstance(event, Renumbered)
        if failure is not None and not commits:
            raise Unavailable(f"{failure.tap}/{failure.stream}: {failure.kind}: {failure.error}")
        return commits, rebuilt

    def _bookmark(self) -> Bookmark:
        return self._feed.cursor.bookmarks.get((self._tap, self._stream), Bookmark("", 0))


def end_of(lake: Lake, tap: str, stream: str) -> Bookmark:
    """Where a stream ends now; the beginning of one that is not there yet. Costs what one look
    costs, however many commits there are. Raises `MissingManifest`, and where nobody answers."""
    try:
        increment = lake.stream(tap, stream).increment()
    except (UnknownTap, UnknownStream):
        return Bookmark("", 0)
    if increment.until is None:
        raise MissingManifest(
            f"{tap}/{stream}: there are files, and no manifest; run `singerlake rebuild`"
        )
    return increment.until


def pause_after(failures: int, interval: float) -> float:
    """Twice as long after each failure."""
    return float(min(interval * 2 ** min(failures, 20), MOST_SECONDS))
