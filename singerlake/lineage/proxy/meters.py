"""What the proxy counts, for Prometheus and statsd."""

from __future__ import annotations

from singerlake.metrics import Metrics

TO = ("destination",)


class Meters:
    """Counters that are exact across restarts are kept in the buffer, and begin from there."""

    def __init__(self, metrics: Metrics) -> None:
        counter, gauge = metrics.counter, metrics.gauge
        self.received = counter("lineage_received", "Events that came.")
        self.written = counter("lineage_written", "Events that are safe on the disk.")
        self.invalid = counter("lineage_invalid", "Events that break the spec.")
        self.refused = counter("lineage_unavailable", "Events that could not be written.")
        self.fallbacks = counter(
            "lineage_facet_fallbacks", "Facets whose version is not at hand: the newest was used."
        )
        self.retries = counter("lineage_retries", "Sends that failed and were tried again.", TO)
        self.sent = counter("lineage_sent", "Events that a destination took.", TO)
        self.dead = counter("lineage_dead", "Events that a destination refused for good.", TO)
        self.dropped = counter("lineage_dropped", "Events that were dropped by a limit.", TO)
        self.lost = counter("lineage_lost", "Events that were lost with damaged files.")
        self.lag = gauge("lineage_lag_events", "Events that wait to be sent.", TO)
        self.lag_bytes = gauge("lineage_lag_bytes", "Bytes on the disk that hold them.", TO)
        self.head_age = gauge("lineage_head_age_seconds", "Age of the next event to send.", TO)
        self.failing = gauge("lineage_failing_seconds", "How long sends have failed.", TO)
        self.partitions = gauge("lineage_partitions", "Files that the buffer has.")
        self._kept = {"sent": self.sent, "dead": self.dead, "dropped": self.dropped}
        self._shown: dict[tuple[str, str], int] = {}

    def show_kept(self, counters: dict[tuple[str, str], int], lost: int) -> None:
        """Raise the exact counters to what the buffer says."""
        for (name, destination), value in counters.items():
            if name in self._kept:
                growth = value - self._shown.get((name, destination), 0)
                if growth > 0:
                    self._kept[name].labels(destination).inc(growth)
                    self._shown[name, destination] = value
        growth = lost - self._shown.get(("lost", ""), 0)
        if growth > 0:
            self.lost.inc(growth)
            self._shown["lost", ""] = lost
