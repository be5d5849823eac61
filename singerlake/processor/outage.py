"""Outages: several different keys that fail in a row are no poison."""

from __future__ import annotations

import threading

from singerlake.runtime import Runtime

FIRST_PROBE = 1.0
LONGEST_PROBE = 30.0


class Outage:
    """While an outage lasts, one slot at a time tries an event, and no attempt counts."""

    def __init__(self, keys: int, runtime: Runtime, stopping: threading.Event) -> None:
        self._most, self._runtime, self._stopping = keys, runtime, stopping
        self._failed: set[str] = set()
        self._lock, self._probe = threading.Lock(), threading.Lock()
        self._delay, self._tried, self._prober = 0.0, True, 0

    @property
    def lasts(self) -> bool:
        return self._delay > 0

    def failed(self, key: str) -> bool:
        """An event of this key failed. Whether that is a part of an outage. Only probes that fail
        make the next one wait for longer: what was under way when it began says nothing new."""
        with self._lock:
            self._failed.add(key)
            if self.lasts and self._prober == threading.get_ident():
                self._delay = min(self._delay * 2, LONGEST_PROBE)
            elif not self.lasts and len(self._failed) >= self._most:
                self._delay, self._tried = FIRST_PROBE, True
            return self.lasts

    def succeeded(self) -> bool:
        """An event was processed. Whether that ended an outage."""
        if not self._failed:
            return False
        with self._lock:
            ended, self._delay = self.lasts, 0.0
            self._failed.clear()
            return ended

    def enter(self) -> bool:
        """Wait until this slot may work; returns whether it is the probe, which must `leave`."""
        while self.lasts and not self._stopping.is_set():
            if self._probe.acquire(timeout=0.05):
                delay = self._delay if self._tried else 0.0
                if self.lasts and not self._runtime.wait(self._stopping, delay):
                    self._prober = threading.get_ident()
                    return True
                self._probe.release()
        return False

    def leave(self, tried: bool) -> None:
        """`tried`: the probe called the job. Where it found no event, or polled the lake, the next
        probe waits for nothing: polls come more often than probes, and would take all of them."""
        self._tried, self._prober = tried, 0
        self._probe.release()
