"""A DAG that commits start, for the tests: it writes down what it read, run by run.

What it does, it does in a database with `once`; what it wrote down shows what was tried.
"""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from airflow.sdk import DAG, task

from singerlake.airflow import commits_of, new_commits
from singerlake.processor import Event, once

ORDERS = commits_of("tap-test--tests", "watched", interval=1.0)

with DAG("on_commits", schedule=[ORDERS], max_active_runs=1):

    @task(inlets=[ORDERS])
    def read(**context) -> int:
        increment = new_commits(context)
        commits = list(increment.events())
        numbers = [event.last_sequence for event in commits]
        with Path(os.environ["SINK"]).open("a") as sink:
            sink.write(json.dumps({"run": context["run_id"], "numbers": numbers}) + "\n")
        with closing(sqlite3.connect(os.environ["SINK_DATABASE"])) as database:
            database.execute("create table if not exists done (log_id, number)")
            for event in commits:
                log_id, number = event.bookmark.log_id, event.last_sequence
                key = f"{event.tap}/{event.stream}"
                place = Event(key, None, number, 0, log_id=log_id, sequence=number)
                with once(database, place) as is_new:
                    if is_new:
                        database.execute("insert into done values (?, ?)", (log_id, number))
        # The first try fails after its effect: the second has to read the same.
        if context["ti"].try_number == 1 and any(number % 3 == 0 for number in numbers):
            raise RuntimeError("again")
        return len(numbers)

    read.override(retries=1, retry_delay=1)()
