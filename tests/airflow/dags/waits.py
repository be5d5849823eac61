"""DAGs that wait, for the tests. What is awaited comes in each run's configuration."""

import os
from datetime import timedelta

from airflow.sdk import DAG, task

from singerlake.airflow import (
    EventsSensor,
    MarkEventOperator,
    StatusEmailOperator,
    StatusNotifier,
    wait_for,
)
from singerlake.wait import ANY, HttpEvent, KafkaEvent, LakeCommit, LakeRun, Need, Window
from singerlake.wait.event import to_json

TAP, STREAM = "tap-test--tests", "orders"
DAY = Window("D")
QUICK = {"interval": 1.0}
LATE = timedelta(seconds=20)

with DAG("one_sensor", schedule=None):
    EventsSensor(
        task_id="waits",
        events=[
            LakeRun(tap=TAP, streams=("{{ dag_run.conf['stream'] }}",)),
            LakeCommit(tap=TAP, stream=STREAM, window=DAY),
            HttpEvent(post="{{ dag_run.conf['post'] }}", name="partner"),
            KafkaEvent(
                topic="{{ dag_run.conf['topic'] }}",
                config={"bootstrap.servers": "{{ dag_run.conf['kafka'] }}"},
                match={"country": "DE"},
                name="message",
            ),
        ],
        at="{{ dag_run.run_after.isoformat() }}",
        deadline="{{ dag_run.conf['deadline'] }}",
        **QUICK,
    )

with DAG("missed", schedule=None):
    wait_for(
        [LakeCommit(tap=TAP, stream=STREAM, window=DAY, name="here"), HttpEvent(post="never")],
        LATE,
        group_id="hard",
        **QUICK,
    )
    EventsSensor(
        task_id="soft", events=[HttpEvent(post="never")], deadline=LATE, soft_fail=True, **QUICK
    )
    EventsSensor(task_id="wrong", events=[{"type": "no-such-{{ 'kind' }}"}], **QUICK)

with DAG("any_of", schedule=None):
    group = wait_for(
        [
            # By a connection of Airflow, and with a title that is a template.
            LakeCommit(
                tap=TAP, stream=STREAM, window=DAY, name="{{ 'here' }}", lake="airflow://lake"
            ),
            HttpEvent(post="never"),
        ],
        group_id="any",
        need=ANY,
        **QUICK,
    )

    @task
    def after() -> str:
        return "after"

    group >> after()
    wait_for(
        [
            LakeCommit(tap=TAP, stream=STREAM, window=DAY, name="here"),
            HttpEvent(post="never", name="never"),
            HttpEvent(post="never", name="never too"),
        ],
        LATE,
        group_id="two",
        need=Need(at_least=2),
        **QUICK,
    )

with DAG("mapped", schedule=None):
    EventsSensor.partial(task_id="waits", deadline=LATE, **QUICK).expand(
        events=[
            to_json([LakeCommit(tap=TAP, stream=STREAM, window=DAY)]),
            to_json([HttpEvent(post="never")]),
        ]
    )

with DAG("many", schedule=None):
    for number in range(50):
        EventsSensor(
            task_id=f"waits_{number}",
            events=[HttpEvent(post="{{ dag_run.conf['post'] }}")],
            pool="small",
            **QUICK,
        )

    @task(pool="small")
    def works() -> str:
        return "works"

    works()

with DAG("marks", schedule=None):
    KAFKA = {"bootstrap.servers": os.environ.get("KAFKA", "")}
    for name, how, awaited in (
        ("by-database", {}, HttpEvent(post="by-database")),
        ("by-http", {"http_conn_id": "receiver"}, HttpEvent(post="by-http")),
        (
            "by-kafka",
            {"kafka_topic": "marks", "kafka_config": KAFKA},
            KafkaEvent(topic="marks", config=KAFKA, match={"event": "by-kafka"}),
        ),
    ):
        marked = MarkEventOperator(task_id=f"marks_{name}", event=name, **how)
        marked >> EventsSensor(task_id=name, events=[awaited], deadline=LATE * 6, **QUICK)

with DAG("mails", schedule=None):
    waits = EventsSensor(
        task_id="waits",
        events=[HttpEvent(post="never", name="<script>alert(1)</script> {{ 7 * 7 }}")],
        deadline=timedelta(seconds=2),
        on_failure_callback=StatusNotifier(to="callback@example.com"),
        **QUICK,
    )
    waits >> StatusEmailOperator(task_id="mails", to="task@example.com", trigger_rule="all_done")

with DAG("seen", schedule=None):
    wait_for(
        [
            LakeCommit(tap=TAP, stream=STREAM, window=DAY, name="here"),
            HttpEvent(post="partner-file"),
            HttpEvent(post="never", name="<img src=x onerror=alert(1)>"),
        ],
        timedelta(hours=1),
        **QUICK,
    )
