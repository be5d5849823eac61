"""What a run's document says of the process: versions, and ids that others gave it. No secrets."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib import metadata

IDS = (
    "MELTANO_RUN_ID",
    "MELTANO_ENVIRONMENT",
    "MELTANO_JOB_ID",
    "MELTANO_SCHEDULE_NAME",
    "MELTANO_EXTRACTOR_NAME",
    "MELTANO_EXTRACTOR_VARIANT",
    "AIRFLOW_CTX_DAG_ID",
    "AIRFLOW_CTX_DAG_RUN_ID",
    "AIRFLOW_CTX_TASK_ID",
    "AIRFLOW_CTX_LOGICAL_DATE",
    "AIRFLOW_CTX_EXECUTION_DATE",
    "AIRFLOW_CTX_TRY_NUMBER",
    "DAGSTER_RUN_ID",
    "DAGSTER_RUN_JOB_NAME",
    "PREFECT__FLOW_RUN_ID",
    "PREFECT__FLOW_ID",
    "KESTRA_EXECUTION_ID",
    "ARGO_WORKFLOW_NAME",
    "AWS_BATCH_JOB_ID",
    "AWS_BATCH_JOB_ATTEMPT",
    "GITHUB_RUN_ID",
    "GITHUB_RUN_ATTEMPT",
    "GITHUB_WORKFLOW",
    "CI_PIPELINE_ID",
    "CI_JOB_ID",
    "BUILDKITE_BUILD_ID",
)
"""Environment variables that name a run to Meltano or to an orchestrator."""

TAP_VERSION = "SINGERLAKE_TAP_VERSION"
"""Set by `singerlake land`, which looks for the version beside the tap's command."""

TAP_EXIT = "SINGERLAKE_TAP_EXIT"
"""The number of a pipe: `singerlake land` writes the tap's exit code, the target reads it."""

LONGEST = 300


def ids() -> dict[str, str]:
    """The ids that the environment has."""
    return {name: os.environ[name][:LONGEST] for name in IDS if os.environ.get(name)}


def traceparent() -> str:
    """The W3C trace context, as OpenTelemetry has it in the environment."""
    return os.environ.get("TRACEPARENT", "")[:LONGEST]


def versions(**others: str) -> dict[str, str]:
    """Of Singerlake, of Python, of the tap where somebody said it, and of `others`."""
    known = {"python": platform.python_version(), **others}
    if tap := os.environ.get(TAP_VERSION):
        known["tap"] = tap[:LONGEST]
    with suppress(metadata.PackageNotFoundError):  # run from a checkout
        known["singerlake"] = metadata.version("singerlake")
    return dict(sorted(known.items()))
