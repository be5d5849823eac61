"""How a destination fares: since when sends fail, why, and how old the next event is."""

from __future__ import annotations

import logging
import threading

from singerlake.runtime import Runtime

logger = logging.getLogger(__name__)

REMIND_SECONDS = 300.0


class Health:
    """Any thread may use it."""

    def __init__(self, name: str, runtime: Runtime) -> None:
        self._name, self._runtime = name, runtime
        self._lock = threading.Lock()
        self._failing_since: float | None = None
        self._reported = float("-inf")
        self.problem = ""
        self._retries = 0
        self.head_received: int | None = None
        """When the next event to send was received, in milliseconds since 1970."""

    def failed(self, reason: str) -> None:
        with self._lock:
            now = self._runtime.monotonic()
            if self._failing_since is None:
                self._failing_since = now
            self._retries += 1
            changed = reason != self.problem
            self.problem = reason
            if changed or now - self._reported > REMIND_SECONDS:
                self._reported = now
                logger.warning("%s does not take events, they wait: %s", self._name, reason)

    def answered(self) -> None:
        with self._lock:
            if self._failing_since is not None:
                logger.warning("%s takes events again", self._name)
            self._failing_since, self.problem = None, ""

    def take_retries(self) -> int:
        """How many there were since the last call."""
        with self._lock:
            retries, self._retries = self._retries, 0
            return retries

    @property
    def failing_seconds(self) -> float:
        """By a clock that nobody sets: 0 while sends succeed."""
        with self._lock:
            since = self._failing_since
            return 0.0 if since is None else self._runtime.monotonic() - since

    @property
    def head_age(self) -> float:
        received = self.head_received
        if received is None:
            return 0.0
        return max(0.0, self._runtime.now().timestamp() - received / 1000)
