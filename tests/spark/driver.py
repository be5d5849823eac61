"""A job on a cluster, run as a program: its answer is one line of JSON.

    python driver.py MASTER project|vacuum '{"lake": …, "out": …, "slow": seconds}'

The stores are slow, so that a test has the time to kill something in the middle. What is defined
here goes to the executors by value, because this is the main program.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import Any

from singerlake.errors import SingerlakeError
from singerlake.format.keys import StreamKeys
from singerlake.lake.vacuum import VacuumOptions
from singerlake.projection.document import Settings
from singerlake.spark import project as project_job
from singerlake.spark import session
from singerlake.spark import vacuum as vacuum_job
from singerlake.store import StoreWrapper, open_store

TAP, STREAM = "tap-test--tests", "orders"
CONF = {
    "spark.sql.shuffle.partitions": "8",
    "spark.default.parallelism": "8",
    "spark.sql.adaptive.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class SlowStore(StoreWrapper):
    """Takes its time over every upload of a data file."""

    def __init__(self, inner: Any, seconds: float) -> None:
        super().__init__(inner)
        self.seconds = seconds

    def create(self, key: str, data: Any) -> str:
        made = self.inner.create(key, data)
        if key.endswith((".parquet", ".singer.gz")):
            time.sleep(self.seconds)
        return made


def settings(mode: str) -> Settings:
    """Rows are shuffled, so that a dead worker takes some with it that others wait for."""
    return Settings(format="parquet", mode=mode, partition_by=("shop",), sort_by=("id",))


def project(spark: Any, given: dict[str, Any]) -> dict[str, Any]:
    def slow_store(*arguments: Any) -> SlowStore:
        return SlowStore(open_store(*arguments), given["slow"])

    project_job.open_store = slow_store  # type: ignore[assignment]
    return asdict(
        project_job.project(
            spark, given["lake"], given["out"], TAP, STREAM, settings(given["mode"])
        )
    )


def vacuum(spark: Any, given: dict[str, Any]) -> dict[str, Any]:
    store = SlowStore(open_store(given["lake"]), given["slow"])
    options = VacuumOptions(target_bytes=given["target_bytes"])
    done = vacuum_job.vacuum(spark, store, StreamKeys(TAP, STREAM), options)
    return asdict(done)


def main() -> None:
    master, job, given = sys.argv[1:]
    spark = session(f"test {job}", master, **CONF)
    work = {"project": project, "vacuum": vacuum}[job]
    try:
        answer = work(spark, json.loads(given))
    except SingerlakeError as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
