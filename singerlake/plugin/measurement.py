"""Metrics in the log, as the Singer SDK writes them, without loading it."""

from __future__ import annotations

import json
import logging
import os
import time
from dataclasses import dataclass
from typing import Any

EVERY = 60.0
"""Seconds between two lines of one counter."""

LOGGER = "singer_sdk.metrics"
"""The SDK's, so that whoever sets its level or reads its lines notices no difference."""


@dataclass(frozen=True)
class Measurement:
    """One line of metrics."""

    kind: str
    metric: str
    value: float
    tags: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": self.kind,
            "metric": self.metric,
            "value": self.value,
            "tags": self.tags,
        }

    def __str__(self) -> str:
        return json.dumps(self.to_dict(), default=str, separators=(",", ":"))

    def log(self) -> None:
        logging.getLogger(LOGGER).info("METRIC: %s", self)


class RecordCounter:
    """Counts the records of one stream; a line tells those since the line before."""

    def __init__(self, stream: str) -> None:
        self._tags = {"stream": stream, "pid": os.getpid()}
        self._count = 0
        self._told_at = time.time()

    def __enter__(self) -> RecordCounter:
        return self

    def __exit__(self, *error: object) -> None:
        self._tell()

    def increment(self, records: int) -> None:
        self._count += records
        if time.time() - self._told_at > EVERY:
            self._tell()

    def _tell(self) -> None:
        Measurement("counter", "record_count", self._count, self._tags).log()
        self._count = 0
        self._told_at = time.time()


class SyncTimer:
    """How long the replay of one stream took, and whether it went well."""

    def __init__(self, stream: str) -> None:
        self._tags: dict[str, Any] = {"stream": stream, "pid": os.getpid()}

    def __enter__(self) -> SyncTimer:
        self._begun = time.time()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        status = "succeeded" if kind is None else "failed"
        seconds = time.time() - self._begun
        Measurement("timer", "sync_duration", seconds, self._tags | {"status": status}).log()
