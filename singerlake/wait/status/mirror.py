"""A mirror: the table shows how waits stand that are decided without it.

The database may be away: then the table is behind, and no wait stops for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from singerlake.wait.arrival import Arrival
from singerlake.wait.status.name import fitting
from singerlake.wait.status.store import StatusStore, received
from singerlake.wait.waiter import Standing, Wait


class Mirror:
    """Writes what has changed in one wait since it wrote last. For one thread."""

    def __init__(self, store: StatusStore, wait: Wait) -> None:
        self._store, self._wait = store, wait
        self._written: dict[tuple[str, str], tuple[str, str]] = {}

    def known(self) -> dict[tuple[str, str], Arrival]:
        """What the table has as received, by title and window, of the same events. Raises
        `Unavailable`."""
        events = {fitting(one.title): one for one in self._wait.events}
        return {
            (events[row.name].title, row.window): received(row)
            for row in self._store.rows(self._wait.name)
            if row.state == "received"
            and row.name in events
            and row.frequency != "sliding"
            and row.event == msgspec.to_builtins(events[row.name])
        }

    def show(self, standings: Sequence[Standing]) -> None:
        """Raises `Unavailable`; what was not written then is written the next time."""
        for one in standings:
            key = (one.event.title, one.span.name)
            error = "" if one.error is None else f"{type(one.error).__name__}: {one.error}"
            if self._written.get(key) != (one.state, error):
                self._write(one, error)
                self._written[key] = (one.state, error)

    def _write(self, one: Standing, error: str) -> None:
        name, window, title = self._wait.name, one.span.name, one.event.title
        row = self._store.declare(name, one.event, one.span, self._wait.deadline)
        if one.arrival is not None:
            self._store.receive(name, window, title, one.arrival)
            return
        is_anew = row.state == "missed" or one.event.frequency == "sliding"
        if one.state == "waiting" and row.state != "waiting" and is_anew:
            self._store.await_again(name, window, title, self._wait.deadline)
        self._store.fail(name, window, title, error)
        if one.state == "missed":
            self._store.miss(name, window, title)
