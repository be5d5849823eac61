"""Who runs a job, as people know it: the job that started it, its orchestrator, or its machine."""

from __future__ import annotations

import os
import socket

from singerlake.lineage.job.context import Context


def who(context: Context, program: str) -> str:
    if context.parent is not None:
        return f"{context.parent.job.namespace}/{context.parent.job.name}"
    environment = os.environ
    if dag := environment.get("AIRFLOW_CTX_DAG_ID"):
        return f"airflow/{dag}.{environment.get('AIRFLOW_CTX_TASK_ID', '')}"
    for variable in ("MELTANO_SCHEDULE_NAME", "MELTANO_JOB_ID", "DAGSTER_RUN_JOB_NAME"):
        if name := environment.get(variable):
            return f"{variable.partition('_')[0].lower()}/{name}"
    return f"{program} on {socket.gethostname()}"
