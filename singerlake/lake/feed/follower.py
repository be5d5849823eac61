"""A follower: cheap looks at many small documents, shared by the feeds of a process.

A document that did not change costs one conditional request without a body. One that has not
changed for long is asked for less often.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from singerlake.errors import NotFound, SingerlakeError
from singerlake.lake.feed.options import DEFAULTS, FeedOptions
from singerlake.runtime import REAL, Runtime
from singerlake.store import Store, Stored

CACHED_BYTES = 32 * 1024 * 1024
"""Of documents that changed last, for the other feeds: 10,000 manifests would be a gigabyte."""

PATIENCE = 10
"""A document is asked for again after a tenth of the time that it has stayed as it is."""


@dataclass(frozen=True)
class Look:
    """What is known of a document: `change` is another number after each change, `asked` the time
    of the last request, `error` why there is no document."""

    change: int
    asked: float
    error: SingerlakeError | None = None


@dataclass
class _Known:
    validator: str = ""
    version: str = ""
    change: int = 0
    asked: float = 0.0
    changed: float = 0.0
    error: SingerlakeError | None = None

    def look(self) -> Look:
        return Look(self.change, self.asked, self.error)


class Follower:
    """Safe to use from several threads; one looks at a time, and the others find what it saw."""

    def __init__(
        self, store: Store, options: FeedOptions = DEFAULTS, runtime: Runtime = REAL
    ) -> None:
        self.store, self.options, self.runtime = store, options, runtime
        self._known: dict[str, _Known] = {}
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._cached = 0
        self._hinted: set[str] = set()
        self._looking = threading.RLock()

    def hint(self, keys: Collection[str]) -> None:
        """These may have changed: the next look asks for them."""
        self._hinted.update(keys)

    def look(self, keys: Sequence[str]) -> dict[str, Look]:
        """What is known of these, after a request for each that is due."""
        with self._looking:
            now = self.runtime.monotonic()
            self._ask([key for key in keys if self._is_due(key, now)])
            return {key: self._known[key].look() for key in keys}

    def read(self, key: str) -> bytes:
        """The document as the last look found it, or as it is now. Raises what the store does."""
        with self._looking:
            if key not in self._cache:
                self._known.setdefault(key, _Known()).validator = ""
                self._ask([key])
            if key not in self._cache:
                raise self._known[key].error or NotFound(f"{self.store.url}/{key}")
            self._cache.move_to_end(key)
            return self._cache[key]

    def _is_due(self, key: str, now: float) -> bool:
        known = self._known.get(key)
        if known is None or key in self._hinted:
            return True
        longest = self.options.idle_seconds
        idle = min((now - known.changed) / PATIENCE, longest)
        return now - known.asked >= max(idle, self.options.poll_seconds)

    def _ask(self, keys: Sequence[str]) -> None:
        """Requests side by side; what they find is kept by this thread alone."""
        # A hint that comes from now on is of a change that these requests may not see.
        self._hinted.difference_update(keys)
        asked = self.runtime.monotonic()
        answers = self.runtime.map(self._request, keys, self.options.requests)
        for key, found in zip(keys, answers, strict=True):
            known = self._known.setdefault(key, _Known())
            known.asked = asked
            if isinstance(found, SingerlakeError):
                self._fail(key, known, found)
            elif found is not None:
                stored, known.validator = found
                self._keep(key, known, stored)
            elif known.error is not None:
                self._fail(key, known, None)

    def _request(self, key: str) -> tuple[Stored, str] | SingerlakeError | None:
        known = self._known.get(key)
        try:
            return self.store.read_if_changed(key, known.validator if known else "")
        except SingerlakeError as error:
            return error

    def _keep(self, key: str, known: _Known, stored: Stored) -> None:
        if known.version != stored.version or known.error is not None:
            known.change += 1
            known.changed = known.asked
        known.version, known.error = stored.version, None
        self._cached += len(stored.data) - len(self._cache.pop(key, b""))
        self._cache[key] = stored.data
        while self._cached > CACHED_BYTES and len(self._cache) > 1:
            self._cached -= len(self._cache.popitem(last=False)[1])

    def _fail(self, key: str, known: _Known, error: SingerlakeError | None) -> None:
        if type(known.error) is not type(error):
            known.change += 1
            known.changed = known.asked
        known.error = error
        if isinstance(error, NotFound):
            known.validator = known.version = ""
            self._cached -= len(self._cache.pop(key, b""))
