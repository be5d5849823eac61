"""Whenever orders are committed: read what is new since the last run that succeeded."""

from airflow.sdk import DAG, task

from singerlake.airflow import MarkEventOperator, commits_of, new_commits

ORDERS = commits_of("tap-shop--sample", "orders")

# One run at a time: two would read the same commits.
with DAG("orders_on_commits", schedule=[ORDERS], max_active_runs=1):

    @task(inlets=[ORDERS])
    def load(**context) -> dict[str, int]:
        new = new_commits(context)
        return {"files": len(list(new.files())), "until": new.until.sequence if new.until else 0}

    load() >> MarkEventOperator(task_id="loaded", event="orders-loaded")
