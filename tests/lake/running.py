"""Runs that land and end: for tests of what reads by run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from singerlake.format import run as runs
from singerlake.format.keys import StreamKeys
from singerlake.format.run import Outcome, RunStream
from singerlake.lake import clock, log, open_on
from singerlake.lake.runs import end
from singerlake.store import Store
from tests.lake.landing import STREAM, TAP, options, record_line, schema_line


class Running:
    """A run under way: it commits when a test says so, and ends with a document, or dies."""

    def __init__(
        self,
        store: Store,
        run_id: str,
        stream: str = STREAM,
        schema: bytes | None = None,
        tap: str = TAP,
    ) -> None:
        self.store, self.run_id, self.stream, self.tap = store, run_id, stream, tap
        self.schema = schema
        self.writer = open_on(store, create=True).writer(tap, run_id, options())
        self.begun = clock.now()
        self.log_id = ""
        self.sequences: list[int] = []
        self.records = 0

    def commit(self, numbers: Iterable[int], version: int = 1) -> None:
        self.writer.write(self.schema or schema_line(self.stream, version))
        for number in numbers:
            self.writer.write(record_line(number, self.stream))
            self.records += 1
        self.sequences += [file.sequence for file in self.writer.commit()]
        # Now, as a target does: when the run ends, the stream may be gone.
        self.log_id = log.read_head(self.store, StreamKeys(self.tap, self.stream)).manifest.log_id

    def end(
        self, outcome: Outcome = "complete", bookmark: bool | None = None, **others: RunStream
    ) -> None:
        left = RunStream(
            log_id=self.log_id if self.sequences else "",
            first_sequence=min(self.sequences, default=0),
            last_sequence=max(self.sequences, default=0),
            files=len(self.sequences),
            records=self.records,
            bookmark=bookmark,
        )
        end(self.store, self._document(outcome, {self.stream: left, **others}))

    def _document(self, outcome: Outcome, streams: dict[str, RunStream]) -> runs.RunDocument:
        ended: datetime = clock.now()
        return runs.new(
            tap_id=self.tap,
            run_id=self.run_id,
            writer_id=self.writer.writer_id,
            begun=self.begun,
            ended=ended,
            outcome=outcome,
            streams=streams,
        )


def land_run(
    store: Store, run_id: str, *commits: Iterable[int], outcome: Outcome | None = "complete"
) -> None:
    """A run with these commits; without an outcome it dies."""
    running = Running(store, run_id)
    for numbers in commits:
        running.commit(numbers)
    if not commits:
        running.writer.write(schema_line())
        running.writer.commit()
    if outcome is not None:
        running.end(outcome)
