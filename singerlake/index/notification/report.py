"""A report: what became of a message, in the form that the original documents."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from singerlake.errors import NoAnswer, ServiceError
from singerlake.http.client import Client
from singerlake.index.entry import Entry
from singerlake.index.v0.moment import to_ms

logger = logging.getLogger(__name__)


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`start` is in milliseconds since 1970, `duration` in seconds; `message` only on an error."""

    status: Literal["success", "error"]
    start: int
    duration: float
    records: tuple[dict[str, Any], ...]
    message: str = ""

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


def reported(entries: Sequence[Entry]) -> tuple[dict[str, Any], ...]:
    """Uploads as a report has them."""
    return tuple(
        {
            "url": entry.key,
            "size": entry.size,
            "create_time": to_ms(entry.create_time),
            "metadata": {} if entry.upload is None else dict(entry.upload.metadata),
        }
        for entry in entries
    )


class Reporter(Protocol):
    """Raises `ServiceError` where a report does not get through."""

    def send(self, report: Report) -> None: ...


class LogReporter:
    """Reports to the log: an error as a warning, all others for those who want to know."""

    def send(self, report: Report) -> None:
        if report.status == "error":
            logger.warning("not indexed: %s", report.message)
        else:
            urls = ", ".join(record["url"] for record in report.records)
            logger.info("indexed in %.3f s: %s", report.duration, urls)


class WebhookReporter:
    """Posts each report, as JSON."""

    def __init__(self, url: str, client: Client | None = None) -> None:
        self._url, self._client = url, client or Client()

    def send(self, report: Report) -> None:
        headers = {"content-type": "application/json"}
        answer = self._client.post(self._url, report.encode(), headers)
        if answer.status >= 500 or answer.status == 429:
            raise NoAnswer(f"the receiver of reports answered {answer.status}")
        if answer.status >= 400:
            raise ServiceError(f"the receiver of reports refused a report: {answer.status}")
