"""Landing: one run for the process that lands a tap, and one for each of its commits.

The ids are made from what the lake knows for good, so that `emit` makes the same events again:
that of a process from the tap, the run and the writer, that of a commit from the stream's address,
its log and its sequence number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from singerlake.format.run import Outcome, RunStream
from singerlake.lake.feed.event import Committed
from singerlake.lineage.event import facet, name, run_id, value
from singerlake.lineage.event.value import Event, EventType, RunEvent
from singerlake.lineage.job import dataset
from singerlake.lineage.job.context import Context, RunName, job_facets
from singerlake.lineage.job.process import Edge, Process, Side

VERB = "land"

_ENDS: Mapping[Outcome, EventType] = {
    "complete": "COMPLETE",
    "ended": "COMPLETE",
    "failed": "FAIL",
    "stopped": "ABORT",
}


@dataclass(frozen=True)
class Landing:
    """A process that lands a tap in the lake at `url`."""

    context: Context
    url: str
    tap: str
    run_id: str
    writer_id: str
    begun: datetime

    @property
    def run(self) -> RunName:
        # Not by the clock alone: two targets of one Meltano run may land one tap.
        lake = name.in_store(self.url, "raw")
        identity = (lake.namespace, lake.name, self.tap, self.run_id, self.writer_id)
        return RunName(
            run_id.derived(self.begun, VERB, *identity),
            name.of_job(self.context.namespace, self.tap, VERB),
        )

    def started(self, streams: Iterable[str]) -> RunEvent:
        """Streams are those that are known by now."""
        return self._event("START", self.begun, {stream: RunStream() for stream in streams})

    def ended(
        self, outcome: Outcome, reason: str, time: datetime, streams: Mapping[str, RunStream]
    ) -> RunEvent:
        return self._event(_ENDS[outcome], time, streams, reason)

    def _event(
        self, kind: EventType, time: datetime, streams: Mapping[str, RunStream], reason: str = ""
    ) -> RunEvent:
        tags = (("run_id", self.run_id), ("writer_id", self.writer_id))
        process = Process(self.context, self.run, tags=tags)
        edges = (self._edge(stream, count) for stream, count in streams.items())
        return process.event(kind, time, edges, reason)

    def _edge(self, stream: str, count: RunStream) -> Edge:
        source = name.of_messages(self.tap, stream)
        target = name.of_stream(self.url, self.tap, stream)
        read = written = value.NO_FACETS
        if count.log_id:
            read = dataset.read(count.records)
            written = dataset.written(count.records, count.bytes, count.files)
        return Edge(
            Side(source, dataset.of_messages(source), read),
            Side(target, dataset.of_stream(target, count.last_sequence), written),
        )


def commit_events(
    context: Context,
    url: str,
    commit: Committed,
    declared: facet.Schema | None = None,
    columns: facet.ColumnLineage | None = None,
) -> list[Event]:
    """START and COMPLETE of a commit's run. `context` is within the process that made it.

    `declared` is the schema of its last file, where somebody knows it; `columns` says what a map
    made of the tap's columns.
    """
    source = name.of_messages(commit.tap, commit.stream)
    target = name.of_stream(url, commit.tap, commit.stream)
    facets = dataset.of_stream(target, commit.last_sequence, declared)
    facets["lineage"] = dataset.made_of(source)
    if columns is not None:
        facets["columnLineage"] = columns
    run = value.Run(run_id=commit_run_id(url, commit), facets=context.run_facets())
    job = value.job(
        name.of_job(context.namespace, commit.tap, VERB, commit.stream), job_facets("TASK")
    )
    # A map has changed what the tap sent.
    sent = dataset.of_messages(source, None if columns is not None else declared)
    begin = RunEvent(
        event_time=value.moment(commit.time),
        event_type="START",
        run=run,
        job=job,
        inputs=(value.input_dataset(source, sent),),
        outputs=(value.output_dataset(target, facets),),
    )
    end = RunEvent(
        event_time=begin.event_time,
        event_type="COMPLETE",
        run=run,
        job=job,
        inputs=(value.input_dataset(source, sent, dataset.read(commit.records)),),
        outputs=(
            value.output_dataset(
                target, facets, dataset.written(commit.records, commit.bytes, len(commit.files))
            ),
        ),
    )
    return [begin, end]


def commit_run_id(url: str, commit: Committed) -> str:
    target = name.of_stream(url, commit.tap, commit.stream)
    place = (commit.log_id, commit.last_sequence)
    return run_id.derived(commit.time, "commit", target.namespace, target.name, *place)


def notes_event(
    url: str, tap: str, stream: str, annotations: Mapping[str, object], time: datetime
) -> list[Event]:
    """What people wrote about the tap of a stream, if anything, as an event of its dataset."""
    facets = dataset.notes(annotations)
    if not facets:
        return []
    named = name.of_stream(url, tap, stream)
    facets["dataSource"] = dataset.source_of(named)
    about = value.Dataset(namespace=named.namespace, name=named.name, facets=facets)
    return [value.DatasetEvent(event_time=value.moment(time), dataset=about)]
