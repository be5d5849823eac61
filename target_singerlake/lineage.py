"""The lineage of a landing: events for the process, and for each of its commits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from singerlake.format.schema import Schema
from singerlake.lake import Lake, Writer, clock
from singerlake.lake.feed.event import Committed
from singerlake.plugin.lineage import SETTING, is_wanted
from target_singerlake.verdict import Verdict

if TYPE_CHECKING:
    from singerlake.lineage.emitter.emitter import Emitter
    from singerlake.lineage.event import facet
    from singerlake.lineage.event.value import Event
    from singerlake.lineage.job.landing import Landing as LandingJob

OnEnd = Callable[[Verdict], None]


def begin(
    config: Mapping[str, Any], lake: Lake, tap_id: str, logger: logging.Logger
) -> Traced | None:
    """None where nobody asked for lineage; then nothing of it is imported."""
    setting = str(config.get(SETTING) or "")
    if not is_wanted(setting):
        return None
    from singerlake.lineage.emitter.opening import open_emitter

    emitter = open_emitter(setting, logger)
    return None if emitter is None else Traced(emitter, lake, tap_id, config)


class Traced:
    """Reports from the writer's threads and the target's own; none of them waits."""

    def __init__(
        self, emitter: Emitter, lake: Lake, tap_id: str, config: Mapping[str, Any]
    ) -> None:
        self._emitter, self._lake, self._tap_id = emitter, lake, tap_id
        self._maps = {} if config.get("flattening_enabled") else config.get("stream_maps") or {}
        self._turn = threading.Lock()
        self._begun = False
        self._noted: set[str] = set()
        self._schemas: dict[str, facet.Schema] = {}
        self._writer: Writer | None = None

    def follow(self, writer: Writer) -> None:
        """The writer whose commits are reported."""
        self._writer = writer

    def committed(self, commit: Committed, schema: Schema) -> None:
        """On a thread of the writer, after each commit."""
        with self._turn:
            self._start()
            self._emitter.report(lambda: self._commit_events(commit, schema), 2)
            if commit.stream not in self._noted:
                self._noted.add(commit.stream)
                self._emitter.report(lambda: self._notes(commit.stream), 0)

    def ended(self, verdict: Verdict) -> None:
        """The end of the process: waits two seconds at most for unsent events."""
        with self._turn:
            self._start()
            streams = {} if self._writer is None else self._writer.landed
            time = clock.now()
            self._emitter.report(
                lambda: [self._job.ended(verdict.outcome, verdict.reason, time, streams)]
            )
        self._emitter.close()

    def _start(self) -> None:
        """Not before the first commit, or the end: START has to name the streams."""
        if not self._begun and self._writer is not None:
            self._begun = True
            streams = self._writer.streams
            self._emitter.report(lambda: [self._job.started(streams)])

    @cached_property
    def _job(self) -> LandingJob:
        from singerlake.lineage.job import context, landing

        writer = self._writer
        assert writer is not None
        return landing.Landing(
            context.from_environment(),
            self._lake.store.url,
            self._tap_id,
            writer.run_id,
            writer.writer_id,
            writer.begun,
        )

    def _commit_events(self, commit: Committed, schema: Schema) -> list[Event]:
        from singerlake.lineage.event import schema as schemas
        from singerlake.lineage.job import landing

        schema_hash = commit.files[-1].schema_hash
        if schema_hash not in self._schemas:
            self._schemas[schema_hash] = schemas.of_stream(schema)
        declared = self._schemas[schema_hash]
        within = self._job.context.within(self._job.run)
        columns = self._columns(commit.stream, declared)
        return landing.commit_events(within, self._job.url, commit, declared, columns)

    def _columns(self, stream: str, declared: facet.Schema) -> facet.ColumnLineage | None:
        """What a stream map made of the tap's columns, where there is a map of the stream."""
        from singerlake.lineage.event import name
        from singerlake.lineage.job import columns

        rules = self._maps.get(stream)
        if not isinstance(rules, Mapping):
            return None
        source = name.of_messages(self._tap_id, stream)
        return columns.of_map(source, rules, [field.name for field in declared.fields])

    @cached_property
    def _annotations(self) -> Mapping[str, Any]:
        return self._lake.annotations().get(self._tap_id, {})

    def _notes(self, stream: str) -> list[Event]:
        from singerlake.lineage.job import landing

        url = self._job.url
        return landing.notes_event(url, self._tap_id, stream, self._annotations, clock.now())
