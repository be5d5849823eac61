"""One Spark session for the whole run (of a worker): it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from singerlake.spark import session

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.sql.adaptive.enabled": "false",
    "spark.task.maxFailures": "1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    made = session("singerlake tests", "local[2]", **SETTINGS)
    yield made
    made.stop()
