"""Looking after a lake: what a vacuum merged, and what a check found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import UNSET

from singerlake.format import keys as key_names
from singerlake.lake.finding import CheckReport, Finding, Level
from singerlake.lake.vacuum import VacuumReport
from singerlake.lineage.event import facet, name, run_id
from singerlake.lineage.event.value import Event, EventType
from singerlake.lineage.job import dataset
from singerlake.lineage.job.context import Context, RunName
from singerlake.lineage.job.process import Edge, Process, Side

MOST_FINDINGS = 100
"""Findings of one stream that an event has; `check` itself lists them all."""

LONGEST = 500


def process(context: Context, begun: datetime, unique: str, *job: str) -> Process:
    """A run of its own each time."""
    run = RunName(run_id.derived(begun, *job, unique), name.of_job(context.namespace, *job))
    return Process(context, run)


def vacuum_events(
    context: Context, url: str, begun: datetime, ended: datetime, unique: str, done: VacuumReport
) -> list[Event]:
    """The stream is what was read and what was made: other files, the same records."""
    named = name.of_stream(url, done.tap_id, done.stream)
    facets = dataset.of_stream(named)
    read = dataset.read(None, done.merged_bytes, done.merged_files)
    merged = done.files_after - (done.files_before - done.merged_files)
    edge = Edge(Side(named, facets, read), Side(named, facets, dataset.written(None, None, merged)))
    made = process(context, begun, unique, done.tap_id, "vacuum", done.stream)
    return [made.event("START", begun, [edge]), made.event("COMPLETE", ended, [edge])]


def broken_vacuum(
    kind: EventType,
    context: Context,
    url: str,
    begun: datetime,
    ended: datetime,
    unique: str,
    tap: str,
    stream: str,
    error: str,
) -> list[Event]:
    named = name.of_stream(url, tap, stream)
    edge = Edge(Side(named, dataset.of_stream(named)), Side(named, dataset.of_stream(named)))
    made = process(context, begun, unique, tap, "vacuum", stream)
    return [made.event("START", begun, [edge]), made.event(kind, ended, [edge], error)]


def check_events(
    context: Context,
    url: str,
    begun: datetime,
    ended: datetime,
    unique: str,
    streams: Sequence[tuple[str, str]],
    report: CheckReport,
) -> list[Event]:
    """Each stream that was checked, with what was found there."""
    found = _by_stream(report.findings)
    edges = [_checked(url, tap, stream, found.get((tap, stream), [])) for tap, stream in streams]
    made = process(context, begun, unique, "check")
    return [made.event("START", begun, edges), made.event("COMPLETE", ended, edges)]


def _by_stream(findings: Iterable[Finding]) -> Mapping[tuple[str, str], list[Finding]]:
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        item = key_names.parse(finding.key)
        if isinstance(item, key_names.StreamObject):
            place = (item.keys.tap_id, item.keys.stream)
            found.setdefault(place, []).append(finding)
    return found


def _checked(url: str, tap: str, stream: str, findings: Sequence[Finding]) -> Edge:
    named = name.of_stream(url, tap, stream)
    wrong = [one for one in findings if one.level is not Level.NOTE]
    whole = facet.Assertion(
        assertion="singerlake_check",
        success=not wrong,
        description="every promise of the lake's format holds",
    )
    each = (
        facet.Assertion(
            assertion=f"singerlake_check:{one.code}",
            success=False,
            severity="error" if one.level is Level.ERROR else "warn",
            description=one.message[:LONGEST] or UNSET,
        )
        for one in wrong[:MOST_FINDINGS]
    )
    assertions: dict[str, facet.Facet] = {
        "dataQualityAssertions": facet.Assertions(assertions=(whole, *each))
    }
    return Edge(Side(named, dataset.of_stream(named), assertions), None)
