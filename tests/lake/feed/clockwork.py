"""A feed whose time stands still until a test moves it."""

from __future__ import annotations

import threading

from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Event
from singerlake.lake.feed.feed import Feed
from singerlake.lake.feed.follower import Follower
from singerlake.lake.feed.options import FeedOptions
from singerlake.runtime import Runtime
from singerlake.store import Store

OPTIONS = FeedOptions(poll_seconds=5, idle_seconds=60, requests=1)


class Clockwork(Runtime):
    """Waiting moves the clock."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def wait(self, woken: threading.Event, seconds: float) -> bool:
        self.seconds += seconds
        return woken.is_set()


class Following:
    """A consumer that keeps its cursor, as a table would, and starts again from it."""

    def __init__(self, store: Store, options: FeedOptions = OPTIONS) -> None:
        self.store, self.options, self.runtime = store, options, Clockwork()
        self.kept = Cursor()
        self.start()

    def start(self) -> None:
        follower = Follower(self.store, self.options, self.runtime)
        self.feed = Feed(follower, Cursor.decode(self.kept.encode()))

    def poll(self, seconds: float = 60.0) -> list[Event]:
        """The next events, after a while."""
        self.runtime.seconds += seconds
        events = list(self.feed.poll())
        self.kept = self.feed.cursor
        return events
