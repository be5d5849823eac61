"""One Spark session for the whole run (of a worker): it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from singerlake.spark import session
from tests.spark.projecting import Projector
from tests.spark.querying import Sink

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


@pytest.fixture
def projector(spark: SparkSession, tmp_path: Path) -> Projector:
    return Projector(spark, str(tmp_path / "lake"), str(tmp_path / "out"))


@pytest.fixture
def sink(spark: SparkSession, tmp_path: Path) -> Sink:
    return Sink(spark, tmp_path / "lake", tmp_path / "checkpoint")
