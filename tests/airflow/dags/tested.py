"""A DAG for `dag.test()`: all in one process, without a triggerer."""

from datetime import timedelta

from airflow.sdk import DAG, task

from singerlake.airflow import EventsSensor, wait_for
from singerlake.errors import ConfigError
from singerlake.wait import HttpEvent, LakeCommit, Sliding, Window

with DAG("tested", schedule=None) as dag:
    here = EventsSensor(
        task_id="here",
        events=[LakeCommit(tap="tap-test--tests", stream="orders", window=Window("Y"), name="x")],
        interval=1.0,
    )

    @task
    def position(found) -> int:
        return found["x"]["position"]["sequence"]

    position(here.output)
    for name, soft_fail in (("missing", False), ("skipped", True)):
        EventsSensor(
            task_id=name,
            events=[HttpEvent(post="never")],
            deadline=timedelta(seconds=1),
            soft_fail=soft_fail,
            interval=1.0,
        )


def refused() -> list[str]:
    """Events that a task cannot show, because they can be missing again after they came."""
    names = []
    with DAG("refused", schedule=None):
        for event in (
            HttpEvent(post="moving", window=Window("M"), moving=True),
            HttpEvent(post="sliding", window=Sliding(3600)),
            HttpEvent(post="staying", window=Window("M")),
        ):
            try:
                wait_for([event], group_id=event.post)
            except ConfigError:
                names.append(event.post)
    return names


if __name__ == "__main__":
    print("refused", *refused())
    run = dag.test()
    for one in run.get_task_instances():
        print(f"ended {one.task_id} {one.state}")
