"""How a processor works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from singerlake.errors import ConfigError
from singerlake.processor.engine.values import Terms

LARGEST_BATCH = 5000
"""A script of a server returns at most 8,000 values on its stack."""


@dataclass(frozen=True)
class ProcessorOptions:
    """Spans are in seconds.

    `lease`: how long a key stays with a processor that says nothing any more. `batch`: events of a
    key that are fetched at once. `sticky`: how long a key waits for the processor that had it last;
    None is 60 for a job with `start`, 0 for others. `idle_timeout`: a session without events ends.
    A failed event is tried again after `backoff`, twice that, and so on up to `longest_backoff`,
    until it was handed out `max_deliveries` times; then it is a dead letter, which holds its key or
    is skipped. `coalesce`: a job gets the newest of the events that wait, which stands for all.
    `limit`: keys that may be processed at once by all processors together; 0 for no limit.
    `outage_keys`: so many different keys that fail in a row are an outage. `grace`: how long a
    processor that is stopped waits for its jobs.

    Raises `ConfigError`.
    """

    lease: float = 30.0
    batch: int = 100
    sticky: float | None = None
    idle_timeout: float = 3600.0
    backoff: float = 1.0
    longest_backoff: float = 300.0
    max_deliveries: int = 10
    on_dead: Literal["hold", "skip"] = "hold"
    at_most_once: bool = False
    coalesce: bool = False
    limit: int = 0
    outage_keys: int = 5
    grace: float = 5.0

    def __post_init__(self) -> None:
        spans = (self.lease, self.idle_timeout, self.backoff, self.longest_backoff)
        counts = (self.batch, self.max_deliveries, self.outage_keys)
        if min(spans) <= 0 or min(counts) < 1 or self.limit < 0 or self.grace < 0:
            raise ConfigError(
                "expected spans above 0 seconds, and counts of at least 1 (limit and grace may be "
                f"0), found {self}"
            )
        if self.batch > LARGEST_BATCH:
            raise ConfigError(f"batch: expected at most {LARGEST_BATCH:,}, found {self.batch:,}")
        if self.on_dead not in ("hold", "skip"):
            raise ConfigError(f"on_dead: expected hold or skip, found {self.on_dead!r}")

    def terms(self, has_sessions: bool, owns: bool) -> Terms:
        """What an engine has to know."""
        sticky = self.sticky
        if sticky is None:
            sticky = 60.0 if has_sessions else 0.0
        return Terms(
            lease=self.lease,
            sticky=sticky,
            idle_timeout=self.idle_timeout if has_sessions else 0.0,
            batch=self.batch,
            max_deliveries=self.max_deliveries,
            on_dead=self.on_dead,
            at_most_once=self.at_most_once,
            limit=self.limit,
            owns=owns,
        )

    def backoff_after(self, deliveries: int) -> float:
        return float(min(self.backoff * 2 ** min(deliveries - 1, 60), self.longest_backoff))
