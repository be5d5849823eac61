"""DAGs that wait, for the tests. What is awaited comes in each run's configuration."""

from datetime import timedelta

from airflow.sdk import DAG, task

from singerlake.airflow import EventsSensor, wait_for
from singerlake.wait import ANY, HttpEvent, LakeCommit, LakeRun, Need, Window

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
        [LakeCommit(tap=TAP, stream=STREAM, window=DAY, name="here"), HttpEvent(post="never")],
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
            [
                {
                    "type": "lake-commit",
                    "tap": TAP,
                    "stream": STREAM,
                    "window": {"kind": "calendar", "frequency": "D"},
                }
            ],
            [{"type": "http", "post": "never"}],
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
