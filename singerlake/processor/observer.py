"""What a processor counts, for people and for machines."""

from __future__ import annotations

import logging
import threading
from collections import Counter

from singerlake.metrics.metrics import Metrics
from singerlake.processor.engine.base import Engine

logger = logging.getLogger("singerlake.processor")

NAMES = {
    "done": "Events that were processed.",
    "retried": "Attempts that failed, and are made again.",
    "later": "Events that were put back without counting an attempt.",
    "dead": "Events that became dead letters.",
    "expired": "Events that nobody processed in time.",
    "fenced": "Leases that were lost while an event was processed.",
    "outages": "Outages: several keys in a row failed.",
}


class Observer:
    """Counts in memory. For any number of threads."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, number: int = 1) -> None:
        with self._lock:
            self.counts[name] += number


class MetricsObserver(Observer):
    """Counts in a registry that Prometheus reads and statsd gets."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._counters = {
            name: metrics.counter(f"processor_{name}", meaning) for name, meaning in NAMES.items()
        }
        self._gauges = {
            name: metrics.gauge(f"processor_{name}", meaning)
            for name, meaning in {
                "ready": "Keys that wait for a processor.",
                "leased": "Keys that are being processed.",
                "scheduled": "Events that wait for their time.",
                "dead_letters": "Dead letters.",
                "oldest_seconds": "Age of the event at the head of the line.",
            }.items()
        }
        self._lag = metrics.gauge("processor_lag", "Events that wait, by stream.", ("key",))
        self._added = metrics.counter("processor_added", "Events that a lake brought.")

    def count(self, name: str, number: int = 1) -> None:
        super().count(name, number)
        if name == "added":
            self._added.inc(number)
        elif name in self._counters:
            self._counters[name].inc(number)

    def look(self, engine: Engine, keys: int = 1000) -> None:
        """Ask the engine how it stands. `keys` bounds how many have a lag of their own."""
        counts = engine.counts()
        self._gauges["ready"].set(counts.ready)
        self._gauges["leased"].set(counts.leased)
        self._gauges["scheduled"].set(counts.scheduled)
        self._gauges["dead_letters"].set(counts.dead)
        self._gauges["oldest_seconds"].set(counts.oldest)
        self._lag.clear()
        for _, state in zip(range(keys), engine.states(), strict=False):
            if state.waiting:
                self._lag.labels(state.key).set(state.waiting)
