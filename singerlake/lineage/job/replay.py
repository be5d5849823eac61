"""Replay: the run of a tap that reads streams back; where they go, only the target knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from singerlake.format.schema import Schema
from singerlake.lineage.event import facet, name, run_id, schema, value
from singerlake.lineage.event.name import DatasetName
from singerlake.lineage.event.value import EventType, RunEvent
from singerlake.lineage.job import columns, dataset
from singerlake.lineage.job.context import Context, RunName
from singerlake.lineage.job.process import Edge, Process, Side

VERB = "replay"


@dataclass(frozen=True)
class ReplayedStream:
    """What a replay read of a stream, up to a sequence number, and what it makes of its columns.

    `aliases` are the names under which the stream comes out; `selected` are the columns that do,
    None where all come as they are; `rules` are those of a stream map.
    """

    name: str
    declared: Schema
    sequence: int = 0
    records: int = 0
    bytes: int = 0
    files: int = 0
    aliases: tuple[str, ...] = ()
    selected: tuple[str, ...] | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Replay:
    """A process that replays a tap of the lake at `url`; its messages bear the name of `sender`."""

    context: Context
    url: str
    tap: str
    sender: str
    unique: str
    begun: datetime

    @property
    def run(self) -> RunName:
        return RunName(
            run_id.derived(self.begun, VERB, self.tap, self.unique),
            name.of_job(self.context.namespace, self.tap, VERB),
        )

    def event(
        self, kind: EventType, time: datetime, streams: Iterable[ReplayedStream], error: str = ""
    ) -> RunEvent:
        edges = [edge for stream in streams for edge in self._edges(stream)]
        return Process(self.context, self.run).event(kind, time, edges, error)

    def _edges(self, stream: ReplayedStream) -> Iterable[Edge]:
        source = name.of_stream(self.url, self.tap, stream.name)
        declared = schema.of_stream(stream.declared)
        read = written = value.NO_FACETS
        if stream.files:
            read = dataset.read(stream.records, stream.bytes, stream.files)
            written = dataset.written(stream.records, None, None)
        side = Side(source, dataset.of_stream(source, stream.sequence, declared), read)
        for alias in stream.aliases or (stream.name,):
            target = name.of_messages(self.sender, alias)
            facets = dict(dataset.of_messages(target))
            made = _columns(source, declared, stream)
            if made is not None:
                facets["columnLineage"] = made
            facets["lineage"] = dataset.made_of(source)
            yield Edge(side, Side(target, facets, written))


def _columns(
    source: DatasetName, declared: facet.Schema, stream: ReplayedStream
) -> facet.ColumnLineage | None:
    if stream.selected is None and not stream.rules:
        return None
    kept = [one.name for one in declared.fields]
    if stream.selected is not None:
        kept = [one for one in kept if one in stream.selected]
    if not stream.rules:
        return facet.ColumnLineage(fields=columns.same(source, kept))
    made = [one for one in stream.rules if not one.startswith("__")]
    removed = {one for one in made if stream.rules[one] is None}
    others = [] if "__else__" in stream.rules else kept
    names = dict.fromkeys([*others, *made])
    return columns.of_map(source, stream.rules, [one for one in names if one not in removed])
