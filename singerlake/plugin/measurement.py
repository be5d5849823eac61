"""Metrics of records in the log, as the Singer SDK writes them, without loading it."""

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

    tags: dict[str, Any]
    value: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "counter",
            "metric": "record_count",
            "value": self.value,
            "tags": self.tags,
        }

    def __str__(self) -> str:
        return json.dumps(self.to_dict(), default=str, separators=(",", ":"))


class RecordCounter:
    """Counts the records of one stream; a line tells those since the line before."""

    def __init__(self, stream: str) -> None:
        self._tags = {"stream": stream, "pid": os.getpid()}
        self._log = logging.getLogger(LOGGER)
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
        self._log.info("METRIC: %s", Measurement(self._tags, self._count))
        self._count = 0
        self._told_at = time.time()
