"""A run of a job, and its events: what it read, what it wrote, and what was made of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from singerlake.lineage.event import facet, value
from singerlake.lineage.event.name import DatasetName
from singerlake.lineage.event.value import EventType, Facets, RunEvent
from singerlake.lineage.job import dataset
from singerlake.lineage.job.context import Context, RunName, job_facets

LONGEST = 2000
"""Characters of an error's message."""


@dataclass(frozen=True)
class Side:
    """A dataset, what is known of it, and what is known of its being read or written."""

    named: DatasetName
    facets: Facets
    statistics: Facets = field(default_factory=dict)


@dataclass(frozen=True)
class Edge:
    """What was read, and what was made of it. One of them may be unknown."""

    source: Side | None
    target: Side | None


@dataclass(frozen=True)
class Process:
    """One run. `kind` is JOB for a process, and TASK for a part of it."""

    context: Context
    run: RunName
    kind: str = "JOB"
    tags: tuple[tuple[str, str], ...] = ()

    def event(
        self, kind: EventType, time: datetime, edges: Iterable[Edge], error: str = ""
    ) -> RunEvent:
        facets = self.context.run_facets()
        if self.tags:
            tags = tuple(facet.Tag(key=key, value=text) for key, text in self.tags)
            facets["tags"] = facet.RunTags(tags=tags)
        if kind == "FAIL":
            message = (error or "the run failed")[:LONGEST]
            facets["errorMessage"] = facet.ErrorMessage(message=message)
        known = list(edges)
        # By name: what is made into two things is read once.
        sources = {edge.source.named: edge.source for edge in known if edge.source}.values()
        targets = {edge.target.named: edge.target for edge in known if edge.target}.values()
        pairs = [
            (edge.source.named, edge.target.named) for edge in known if edge.source and edge.target
        ]
        about = dict(job_facets(self.kind))
        if pairs:
            about["lineage"] = dataset.edges(pairs)
        return RunEvent(
            event_time=value.moment(time),
            event_type=kind,
            run=value.Run(run_id=self.run.run_id, facets=facets),
            job=value.job(self.run.job, about),
            inputs=tuple(
                value.input_dataset(one.named, one.facets, one.statistics) for one in sources
            ),
            outputs=tuple(
                value.output_dataset(one.named, one.facets, one.statistics) for one in targets
            ),
        )
