"""Ingestion: a message becomes hints and entries, and is reported.

Bad messages are reported, and are done with. A passing fault is raised: the queue keeps the
message, and gives it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from singerlake.errors import BadUpload, InputError, NotFound, ServiceError
from singerlake.index.entry import Entry, micros
from singerlake.index.notification.message import parse_message
from singerlake.index.notification.report import Report, Reporter, reported
from singerlake.index.notification.translator import Hint, Translator, Uploaded
from singerlake.index.storage.base import Storage
from singerlake.index.v0.moment import to_ms
from singerlake.index.v0.upload import entry_of, parse_metadata
from singerlake.metrics import Metrics
from singerlake.runtime import REAL, Runtime

if TYPE_CHECKING:
    from prometheus_client import Counter

logger = logging.getLogger(__name__)

OnHint = Callable[[str, "str | None"], None]


@dataclass(frozen=True)
class Head:
    """What a bucket says of an object."""

    size: int
    modified: datetime
    metadata: str | None


class Objects(Protocol):
    """Raises `NotFound`, and what a store raises."""

    def head(self, bucket: str, key: str) -> Head: ...


class Ingestion:
    """For any thread."""

    def __init__(
        self,
        storage: Storage,
        translator: Translator,
        on_hint: OnHint,
        objects: Objects,
        reporters: Iterable[Reporter] = (),
        metrics: Metrics | None = None,
        runtime: Runtime = REAL,
    ) -> None:
        self._storage, self._translator = storage, translator
        self._on_hint, self._objects = on_hint, objects
        self._reporters, self._runtime = tuple(reporters), runtime
        self._counter: Counter | None = None
        if metrics is not None:
            self._counter = metrics.counter(
                "index_notifications", "Messages by what became of them.", ("outcome",)
            )

    def take(self, body: str | bytes) -> int:
        """Act on a message; returns how many hints and entries it was. Raises what passes: then
        the message has to come again."""
        try:
            return self._take(body)
        except Exception:
            self._count("passing fault")
            raise

    def _take(self, body: str | bytes) -> int:
        begun, now = self._runtime.monotonic(), self._runtime.now()
        uploads: dict[Uploaded, None] = {}
        hints: dict[Hint, None] = {}
        problems: list[str] = []
        try:
            for event in parse_message(body):
                meaning = self._translator.translate(event)
                if isinstance(meaning, Hint):
                    hints[meaning] = None
                elif meaning is not None:
                    uploads[meaning] = None
        except InputError as error:
            problems.append(f"{type(error).__name__}: {error}")
        for hint in hints:
            self._on_hint(hint.tap, hint.stream)
        entries = self._index(uploads, now, problems)
        start, duration = to_ms(micros(now)), self._runtime.monotonic() - begun
        if entries:
            self._report(
                Report(status="success", start=start, duration=duration, records=reported(entries))
            )
        for problem in problems:
            self._report(
                Report(status="error", start=start, duration=duration, records=(), message=problem)
            )
        self._count("bad" if problems else "done")
        return len(hints) + len(entries)

    def _index(
        self, uploads: Iterable[Uploaded], now: datetime, problems: list[str]
    ) -> list[Entry]:
        entries = []
        for upload in uploads:
            url = f"s3://{upload.bucket}/{upload.key}"
            try:
                entries.append(self._entry(upload, url, now))
            except InputError as error:
                problems.append(f"{url}: {type(error).__name__}: {error}")
            except NotFound:
                problems.append(f"{url}: there is no such object any more")
        if entries:
            self._storage.put_uploads(entries)
        return entries

    def _entry(self, upload: Uploaded, url: str, now: datetime) -> Entry:
        head = self._objects.head(upload.bucket, upload.key)
        # Not a new id each time, for the message may come again.
        metadata = parse_metadata(head.metadata, now, upload.key.split("/")[-2])
        known = self._storage.by_id(metadata["id"])
        if known is not None and known.upload is None:
            raise BadUpload(f"the id {metadata['id']!r} is that of a file of the lake")
        return entry_of(url, metadata, head.size, head.modified)

    def _report(self, report: Report) -> None:
        """A report that does not get through must not have a message come again for ever."""
        for reporter in self._reporters:
            try:
                reporter.send(report)
            except ServiceError as error:
                logger.warning("a report did not get through: %s", error)

    def _count(self, outcome: str) -> None:
        if self._counter is not None:
            self._counter.labels(outcome).inc()
