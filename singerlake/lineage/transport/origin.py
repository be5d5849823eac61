"""What an event belongs to: the run at the root of its run, or its job, or its dataset."""

from __future__ import annotations

import msgspec


class _Job(msgspec.Struct):
    namespace: str = ""
    name: str = ""


class _Run(msgspec.Struct):
    runId: str = ""  # noqa: N815


class _Root(msgspec.Struct):
    run: _Run = msgspec.field(default_factory=_Run)
    job: _Job = msgspec.field(default_factory=_Job)


class _Parent(msgspec.Struct):
    run: _Run = msgspec.field(default_factory=_Run)
    job: _Job = msgspec.field(default_factory=_Job)
    root: _Root | None = None


class _Facets(msgspec.Struct):
    parent: _Parent | None = None


class _OwnRun(msgspec.Struct):
    runId: str = ""  # noqa: N815
    facets: _Facets = msgspec.field(default_factory=_Facets)


class _Event(msgspec.Struct):
    run: _OwnRun | None = None
    job: _Job | None = None
    dataset: _Job | None = None


_decoder = msgspec.json.Decoder(_Event)


def lane_of(event: bytes) -> str:
    """Events of one lane keep their order: those of one root run; without a run, of one name."""
    try:
        found = _decoder.decode(event)
    except msgspec.MsgspecError:
        return ""
    if found.run is None:
        return key_of(event)
    parent = found.run.facets.parent
    if parent is None:
        return found.run.runId
    return parent.root.run.runId if parent.root is not None else parent.run.runId


def key_of(event: bytes) -> str:
    """The key of a Kafka message: one job's runs, and runs below one root job, stay in order."""
    try:
        found = _decoder.decode(event)
    except msgspec.MsgspecError:
        return ""
    if found.run is None:
        kind, job = ("dataset", found.dataset) if found.dataset else ("job", found.job)
        return f"{kind}:{job.namespace}/{job.name}" if job else ""
    job, parent = found.job, found.run.facets.parent
    if parent is not None:
        job = parent.root.job if parent.root is not None else parent.job
    return f"run:{job.namespace}/{job.name}" if job else ""
