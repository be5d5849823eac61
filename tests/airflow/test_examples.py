"""The example DAGs of sample/airflow run."""

from __future__ import annotations

import pytest

from singerlake.wait.event import ALWAYS
from tests.airflow.conftest import Ground
from tests.airflow.server import until
from tests.lake.landing import schema_line
from tests.lake.running import Running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TAP = "tap-shop--sample"


def land_run(ground: Ground, run_id: str, stream: str) -> None:
    running = Running(ground.store, run_id, stream, schema_line(stream), TAP)
    running.commit([1])
    running.end()


def test_the_morning_waits_for_its_events(ground: Ground) -> None:
    airflow = ground.airflow
    run = airflow.trigger("morning")
    airflow.until_tasks("morning", run, {"arrived.orders": "deferred"})
    for stream in ("orders", "customers"):
        land_run(ground, f"morning-{stream}", stream)
    airflow.until_tasks("morning", run, {"arrived.orders": "success"})
    ground.inbox().take("partner-file", {})
    ends = dict.fromkeys(("arrived.customers", "arrived.post_to_partner-file"), "success")
    airflow.until_tasks("morning", run, {**ends, "report": "success"})


def test_a_commit_starts_a_dag(ground: Ground) -> None:
    airflow = ground.airflow
    until(lambda: airflow.has_state_of_asset(f"{TAP}/orders"), "the watcher began")
    before = {run["dag_run_id"] for run in airflow.runs("orders_on_commits")}
    land_run(ground, "rings", "orders")

    def is_done() -> bool:
        runs = airflow.runs("orders_on_commits")
        return any(run["state"] == "success" and run["dag_run_id"] not in before for run in runs)

    until(is_done, "a run of the DAG that the commit started")
    assert any(True for _ in ground.inbox().find("orders-loaded", ALWAYS))
