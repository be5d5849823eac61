"""Seconds from a commit to its event, by a consumer that waits: by polls alone, and by hints."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks.feed_lake import Streams, commit
from benchmarks.timing import Samples
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Event
from singerlake.lake.feed.feed import Feed
from singerlake.lake.feed.follower import Follower
from singerlake.lake.feed.options import DEFAULTS

ROUNDS = 5
POLLED, HINTED = "by polls", "by a hint"
LONGEST = 120.0

_Events = queue.Queue[Event]


def measure(streams: Streams) -> Samples:
    """The clock is the real one, and the commits fall on all moments between two polls."""
    samples = Samples()
    stream = streams.busy[0]
    with streams.writer() as writer, _following(streams) as (feed, events):
        # The first event of a stream that was idle may take long: from now on it is busy.
        commit(writer, [stream])
        feed.hint(streams.tap, stream)
        events.get(timeout=LONGEST)
        for kind in (POLLED, HINTED):
            for number in range(ROUNDS):
                time.sleep(DEFAULTS.poll_seconds * number / ROUNDS)
                commit(writer, [stream])
                if kind == HINTED:
                    feed.hint(streams.tap, stream)
                samples.time(kind, partial(events.get, timeout=LONGEST))
    return samples


@contextmanager
def _following(streams: Streams) -> Iterator[tuple[Feed, _Events]]:
    """A feed that another thread follows, with its events from now on."""
    feed = Feed(Follower(streams.store), Cursor(), taps=[streams.tap])
    for _ in feed.poll():
        pass
    events: _Events = queue.Queue()

    def follow() -> None:
        for event in feed:
            events.put(event)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield feed, events
    finally:
        feed.close()
        follower.join(LONGEST)
