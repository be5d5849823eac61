"""The trace of a landing: events for the process, and for each of its commits."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from singerlake.format.run import Outcome
from singerlake.format.schema import Schema
from singerlake.lake import Lake, Writer, clock
from singerlake.lake.feed.event import Committed
from singerlake.lineage.emitter.emitter import Emitter
from singerlake.lineage.event import facet, name
from singerlake.lineage.event import schema as schemas
from singerlake.lineage.event.value import Event
from singerlake.lineage.job import columns, context, landing
from singerlake.lineage.job.landing import Landing


class LandingTrace:
    """Reports from the writer's threads and the target's own; none of them waits.

    `maps` are the stream maps by stream, where they can be followed.
    """

    def __init__(
        self, emitter: Emitter, lake: Lake, tap_id: str, maps: Mapping[str, Any] | None = None
    ) -> None:
        self._emitter, self._lake, self._tap_id, self._maps = emitter, lake, tap_id, maps or {}
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

    def ended(self, outcome: Outcome, reason: str) -> None:
        """The end of the process: waits two seconds at most for unsent events."""
        with self._turn:
            self._start()
            streams = {} if self._writer is None else self._writer.landed
            time = clock.now()
            self._emitter.report(lambda: [self._job.ended(outcome, reason, time, streams)])
        self._emitter.close()

    def _start(self) -> None:
        """Not before the first commit, or the end: START has to name the streams."""
        if not self._begun and self._writer is not None:
            self._begun = True
            streams = self._writer.streams
            self._emitter.report(lambda: [self._job.started(streams)])

    @cached_property
    def _job(self) -> Landing:
        writer = self._writer
        assert writer is not None
        ids = (self._tap_id, writer.run_id, writer.writer_id)
        return Landing(context.from_environment(), self._lake.store.url, *ids, writer.begun)

    def _commit_events(self, commit: Committed, schema: Schema) -> list[Event]:
        schema_hash = commit.files[-1].schema_hash
        if schema_hash not in self._schemas:
            self._schemas[schema_hash] = schemas.of_stream(schema)
        declared = self._schemas[schema_hash]
        within = self._job.context.within(self._job.run)
        made = self._columns(commit.stream, declared)
        return landing.commit_events(within, self._job.url, commit, declared, made)

    def _columns(self, stream: str, declared: facet.Schema) -> facet.ColumnLineage | None:
        """What a stream map made of the tap's columns, where there is a map of the stream."""
        rules = self._maps.get(stream)
        if not isinstance(rules, Mapping):
            return None
        source = name.of_messages(self._tap_id, stream)
        return columns.of_map(source, rules, [field.name for field in declared.fields])

    @cached_property
    def _annotations(self) -> Mapping[str, Any]:
        return self._lake.annotations().get(self._tap_id, {})

    def _notes(self, stream: str) -> list[Event]:
        url = self._job.url
        return landing.notes_event(url, self._tap_id, stream, self._annotations, clock.now())
