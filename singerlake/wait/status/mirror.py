"""A mirror: the table shows how waits stand that are decided without it.

The database may be away: then the table is behind, and no wait stops for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from singerlake.wait.status.store import StatusStore
from singerlake.wait.waiter import Standing, Wait


class Mirror:
    """Writes what has changed in one wait since it wrote last. For one thread."""

    def __init__(self, store: StatusStore, wait: Wait) -> None:
        self._store, self._wait = store, wait
        self._written: dict[tuple[str, str], tuple[str, str]] = {}

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
        self._store.declare(name, one.event, one.span, self._wait.deadline)
        if one.arrival is not None:
            self._store.receive(name, window, title, one.arrival)
            return
        self._store.fail(name, window, title, error)
        if one.state == "missed":
            self._store.miss(name, window, title)
