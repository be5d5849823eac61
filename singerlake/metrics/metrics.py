"""Metrics: the numbers of one process, in a registry of prometheus-client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from singerlake.errors import ConfigError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

PREFIX = "singerlake"
"""Every name begins with it."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The buckets of a histogram of durations."""


@dataclass(frozen=True)
class Metrics:
    """A name may be given once: keep what `counter`, `gauge` and `histogram` return."""

    registry: CollectorRegistry

    @staticmethod
    def create(process: bool = True) -> Metrics:
        """An empty registry; with `process`, it shows memory, CPU time and open files too.

        Raises `ConfigError` where prometheus-client is not installed.
        """
        try:
            from prometheus_client import CollectorRegistry, ProcessCollector
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"metrics need prometheus-client, and {error.name} is missing: "
                'pip install "singerlake[http]"'
            ) from error
        registry = CollectorRegistry()
        if process:
            ProcessCollector(registry=registry)
        return Metrics(registry)

    def counter(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Counter:
        """A number that only grows, shown as `singerlake_<name>_total`."""
        from prometheus_client import Counter

        return Counter(name, meaning, labels, namespace=PREFIX, registry=self.registry)

    def gauge(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Gauge:
        """A number that goes up and down, shown as `singerlake_<name>`."""
        from prometheus_client import Gauge

        return Gauge(name, meaning, labels, namespace=PREFIX, registry=self.registry)

    def histogram(
        self,
        name: str,
        meaning: str,
        labels: Sequence[str] = (),
        buckets: Sequence[float] = SECONDS,
    ) -> Histogram:
        """How often a value lay below each bound, and the sum of all values."""
        from prometheus_client import Histogram

        return Histogram(
            name, meaning, labels, namespace=PREFIX, registry=self.registry, buckets=buckets
        )

    def text(self) -> bytes:
        """All numbers, in the text format of Prometheus."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Of `Metrics.text`."""
