"""A DAG that commits start, for the tests: it writes down what it read, run by run."""

import json
import os
from pathlib import Path

from airflow.sdk import DAG, task

from singerlake.airflow import commits_of, new_commits

ORDERS = commits_of("tap-test--tests", "watched", interval=1.0)

with DAG("on_commits", schedule=[ORDERS], max_active_runs=1):

    @task(inlets=[ORDERS])
    def read(**context) -> int:
        increment = new_commits(context)
        numbers = [event.last_sequence for event in increment.events()]
        with Path(os.environ["SINK"]).open("a") as sink:
            sink.write(json.dumps({"run": context["run_id"], "numbers": numbers}) + "\n")
        # The first try fails after its effect: the second has to read the same.
        if context["ti"].try_number == 1 and any(number % 5 == 0 for number in numbers):
            raise RuntimeError("again")
        return len(numbers)

    read.override(retries=1, retry_delay=1)()
