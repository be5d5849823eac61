"""What a job inherits from its surroundings: the namespace of jobs, and the run that started it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from singerlake.lineage.event import facet, run_id
from singerlake.lineage.event.name import JobName
from singerlake.lineage.event.value import Facets

logger = logging.getLogger(__name__)

NAMESPACE = "singerlake"
"""Of jobs, where OPENLINEAGE_NAMESPACE says nothing else."""


@dataclass(frozen=True)
class RunName:
    """A run, and the job that it is a run of."""

    run_id: str
    job: JobName


@dataclass(frozen=True)
class Context:
    """The namespace of jobs; the run that started this one, and the run that started everything."""

    namespace: str = NAMESPACE
    parent: RunName | None = None
    root: RunName | None = None

    def run_facets(self) -> dict[str, facet.Facet]:
        """The facets of every run. DataHub wants the engine's name."""
        facets: dict[str, facet.Facet] = {
            "processing_engine": facet.ProcessingEngine(version=facet.VERSION, name="Singerlake")
        }
        if self.parent is not None:
            facets["parent"] = _parent(self.parent, self.root or self.parent)
        return facets

    def within(self, parent: RunName) -> Context:
        """For the runs that `parent` starts."""
        return Context(self.namespace, parent, self.root or self.parent or parent)


def from_environment(environment: Mapping[str, str] | None = None) -> Context:
    """`OPENLINEAGE_CONTEXT` counts before the older variables. What cannot be read is left out,
    with a warning: lineage keeps no job from its work."""
    found = os.environ if environment is None else environment
    namespace = found.get("OPENLINEAGE_NAMESPACE") or NAMESPACE
    parent, root = _of_context(found.get("OPENLINEAGE_CONTEXT", ""))
    if parent is None:
        parent = _of_id(found, "OPENLINEAGE_PARENT_ID")
        root = _of_id(found, "OPENLINEAGE_ROOT_PARENT_ID")
    return Context(namespace, parent, root if parent else None)


def job_facets(kind: str) -> Facets:
    """`kind` is JOB for a process, and TASK for a part of it."""
    return {"jobType": facet.JobType(job_type=kind)}


def _parent(parent: RunName, root: RunName) -> facet.Parent:
    return facet.Parent(
        run=facet.RunReference(run_id=parent.run_id),
        job=facet.JobReference(namespace=parent.job.namespace, name=parent.job.name),
        root=facet.Root(
            run=facet.RunReference(run_id=root.run_id),
            job=facet.JobReference(namespace=root.job.namespace, name=root.job.name),
        ),
    )


def _of_context(text: str) -> tuple[RunName | None, RunName | None]:
    if not text:
        return None, None
    try:
        parent = json.loads(text)["parent"]
        root = parent.get("root") or json.loads(text).get("root")
        return _of_json(parent), _of_json(root) if root else None
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        logger.warning(
            "OPENLINEAGE_CONTEXT is ignored: expected JSON such as "
            '{"parent": {"run": {"runId": UUID}, "job": {"namespace": …, "name": …}}}'
        )
        return None, None


def _of_json(value: Any) -> RunName:
    job = value["job"]
    if not isinstance(job["namespace"], str) or not isinstance(job["name"], str):
        raise ValueError
    return RunName(
        run_id.checked(value["run"]["runId"]), JobName(str(job["namespace"]), str(job["name"]))
    )


def _of_id(environment: Mapping[str, str], variable: str) -> RunName | None:
    """`namespace/job/run id`, from the right: a namespace may have slashes."""
    text = environment.get(variable, "")
    if not text:
        return None
    try:
        namespace, name, run = text.rsplit("/", 2)
        return RunName(run_id.checked(run), JobName(namespace, name))
    except ValueError:
        logger.warning("%s is ignored: expected <namespace>/<job>/<UUID of the run>", variable)
        return None
