"""DAGs of the benchmark `wait`: the same waits, as ours and as Airflow's own sensors.

Airflow's wait for a file that is made when ours have their commit.
"""

import os

from airflow.providers.standard.sensors.filesystem import FileSensor
from airflow.sdk import DAG

from singerlake.airflow import EventsSensor
from singerlake.wait import LakeCommit

WAITS = int(os.environ["BENCH_WAITS"])
INTERVAL = float(os.environ["BENCH_INTERVAL"])
PEERS = {
    "poke": {"mode": "poke"},
    "reschedule": {"mode": "reschedule"},
    "deferrable": {"deferrable": True},
}

with DAG("ours", schedule=None):
    for number in range(WAITS):
        EventsSensor(
            task_id=f"waits_{number}",
            events=[LakeCommit(tap="tap-bench--wait", stream="s")],
            interval=INTERVAL,
        )

for name, settings in PEERS.items():
    with DAG(name, schedule=None):
        for number in range(WAITS):
            FileSensor(
                task_id=f"waits_{number}",
                filepath="{{ dag_run.conf['file'] }}",
                poke_interval=INTERVAL,
                timeout=3600,
                **settings,
            )
