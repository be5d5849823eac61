"""The trace of a command: what `vacuum`, `project`, `check` and `verify` report of their work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol

from singerlake.errors import UnknownStream
from singerlake.format.catalogue import Entry
from singerlake.format.consumer import consumer
from singerlake.lake import Lake, clock, consumers
from singerlake.lake.finding import CheckReport
from singerlake.lake.vacuum import VacuumReport
from singerlake.lineage.emitter.emitter import Emitter
from singerlake.lineage.emitter.opening import open_emitter
from singerlake.lineage.event import name
from singerlake.lineage.event.value import Event
from singerlake.lineage.job import context, upkeep
from singerlake.lineage.job.projecting import Projecting
from singerlake.lineage.trace.replay import end_of, told
from singerlake.projection.document import Published, PublishedKeys, Settings
from singerlake.projection.publication import read_published_head
from singerlake.runtime import REAL
from singerlake.store import Store

logger = logging.getLogger(__name__)

MOST_STREAMS = 1000
"""Of one check: an event that names more would be too large for some receivers."""


class Projected(Protocol):
    """What a projection did to a stream."""

    @property
    def status(self) -> str: ...
    @property
    def raw_files(self) -> int: ...
    @property
    def raw_records(self) -> int | None: ...
    @property
    def files(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def misfits(self) -> dict[str, int]: ...


class CommandTrace:
    """Reports that never delay or fail the command."""

    def __init__(self, emitter: Emitter, lake: Lake) -> None:
        self._emitter, self._lake = emitter, lake
        self._context = context.from_environment()

    @contextmanager
    def vacuum(self, tap: str, stream: str) -> Iterator[Callable[[VacuumReport], None]]:
        """Around the vacuum of a stream; nothing is reported where nothing was merged."""
        begun, unique, url = clock.now(), REAL.new_id(), self._lake.store.url

        def done(report: VacuumReport) -> None:
            ended = clock.now()
            if report.merged_files:
                self._emitter.report(
                    lambda: upkeep.vacuum_events(self._context, url, begun, ended, unique, report),
                    2,
                )

        try:
            yield done
        except BaseException as error:
            ended, kind, text = clock.now(), end_of(error), told(error)
            self._emitter.report(
                lambda: upkeep.broken_vacuum(
                    kind, self._context, url, begun, ended, unique, tap, stream, text
                ),
                2,
            )
            raise

    @contextmanager
    def project(
        self, out: Store, tap: str, stream: str, settings: Settings
    ) -> Iterator[Callable[[Projected], None]]:
        """Around the projection of a stream."""
        url, unique = self._lake.store.url, REAL.new_id()
        job = Projecting(self._context, url, out.url, tap, stream, settings, clock.now(), unique)

        def entry() -> Entry | None:
            return self._lake.tap(tap).catalogue().get(stream)

        def done(result: Projected) -> None:
            ended = clock.now()
            self._emitter.report(lambda: [self._projected(job, out, entry(), result, ended)])

        self._emitter.report(lambda: [job.started(entry())])
        try:
            yield done
        except UnknownStream:
            ended = clock.now()
            self._emitter.report(lambda: [job.nothing(entry(), ended)])
            raise
        except BaseException as error:
            ended, kind, text = clock.now(), end_of(error), told(error)
            self._emitter.report(lambda: [job.broken(kind, entry(), ended, text)])
            raise

    def _projected(
        self, job: Projecting, out: Store, entry: Entry | None, result: Projected, ended: datetime
    ) -> Event:
        published = read_published_head(out, PublishedKeys(job.tap, job.stream)).published
        if published is not None and result.status == "published":
            self._note(job, published)
        read = (result.raw_records, result.raw_files)
        written = (result.records, result.bytes, result.files)
        return job.ended(entry, published, ended, read, written, result.misfits)

    def _note(self, job: Projecting, published: Published) -> None:
        """In the lake, which table was made of the stream."""
        place = (published.log_id, published.sequence, published.published)
        detail = f"{published.settings.format}, {published.settings.mode}"
        made = consumer("projection", name.shown(job.table), detail, *place)
        consumers.note(self._lake.store, job.tap, {job.stream: made})

    @contextmanager
    def check(
        self, streams: Callable[[], Sequence[tuple[str, str]]]
    ) -> Iterator[Callable[[CheckReport], None]]:
        """Around a check of these streams."""
        begun, unique, url = clock.now(), REAL.new_id(), self._lake.store.url

        def done(report: CheckReport) -> None:
            ended = clock.now()
            self._emitter.report(
                lambda: upkeep.check_events(
                    self._context, url, begun, ended, unique, streams()[:MOST_STREAMS], report
                ),
                2,
            )

        yield done

    def close(self) -> None:
        self._emitter.close()


def open_trace(lake: Lake, setting: str) -> CommandTrace | None:
    """None where lineage is off."""
    emitter = open_emitter(setting, logger)
    return None if emitter is None else CommandTrace(emitter, lake)
