"""On a cluster whose workers die: jobs finish or fail cleanly, and nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from singerlake.format.keys import StreamKeys
from singerlake.lake import Lake, Level, check
from singerlake.lake.vacuum import VacuumOptions
from singerlake.spark.vacuum import vacuum
from singerlake.store import open_store
from tests.faults.scale import WHOLE
from tests.lake.landing import QUICK
from tests.spark import projecting
from tests.spark.cluster import Cluster, kill, result, run_cluster, wait_until
from tests.spark.driver import settings
from tests.spark.projecting import Projector

FILES, RECORDS = 24, 200

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with run_cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def cluster(master: Cluster) -> Cluster:
    """A cluster of two workers, one of which a test kills."""
    master.have_workers(2)
    return master


@pytest.fixture
def lake(tmp_path: Path) -> str:
    root = str(tmp_path / "lake")
    starts = range(0, FILES * RECORDS, RECORDS)
    projecting.land(root, (projecting.simple(range(n, n + RECORDS)) for n in starts))
    return root


def staged(projector: Projector) -> int:
    return sum(path.is_file() for path in Path(projector.out).rglob("data/**/*.parquet"))


@pytest.fixture
def projector(spark: SparkSession, tmp_path: Path, lake: str) -> Projector:
    """Looks at what came out, and runs again, without the cluster."""
    return Projector(spark, lake, str(tmp_path / "out"))


def job(projector: Projector, mode: str) -> dict[str, Any]:
    return {"lake": projector.lake, "out": projector.out, "mode": mode, "slow": 2}


def test_a_worker_dies_in_a_projection(cluster: Cluster, projector: Projector) -> None:
    """Of the latest of each key: what is lost with the worker is a part of the shuffle too."""
    running = cluster.start("project", **job(projector, "current"))
    wait_until(lambda: staged(projector), running)
    cluster.kill_worker()
    first = result(running)
    if "error" not in first:
        assert first["records"] == FILES * RECORDS
        assert projector.ids() == list(range(FILES * RECORDS))
    second = projector.run(settings=settings("current"), grace=timedelta(0))
    assert second.status == ("published" if "error" in first else "unchanged")
    assert projector.ids() == list(range(FILES * RECORDS))
    # What the dead worker left is gone, and what is published is there.
    assert staged(projector) == second.total_files


@pytest.mark.skipif(not WHOLE, reason="left to `make faults`")
def test_the_driver_dies_in_a_projection(cluster: Cluster, projector: Projector) -> None:
    running = cluster.start("project", **job(projector, "append"))
    wait_until(lambda: staged(projector), running)
    kill(running)
    assert not list(Path(projector.out).rglob("published.json"))
    assert projector.run(settings=settings("append")).status == "published"
    assert projector.ids() == list(range(FILES * RECORDS))


def test_a_worker_dies_in_a_vacuum(cluster: Cluster, spark: SparkSession, lake: str) -> None:
    store, keys = open_store(lake), StreamKeys(projecting.TAP, "orders")
    stream = Lake(store).stream(projecting.TAP, "orders")
    before = list(stream.snapshot().files())
    target = 4 * before[0].bytes
    running = cluster.start("vacuum", lake=lake, target_bytes=target, slow=2)
    wait_until(lambda: len(list(Path(lake).rglob("*.singer.gz"))) > len(before), running)
    cluster.kill_worker()
    result(running)
    vacuum(spark, store, keys, VacuumOptions(target_bytes=target))
    records = [record["id"] for record in stream.snapshot().records()]
    assert records == list(range(FILES * RECORDS))
    assert len(list(stream.snapshot().files())) < len(before)
    assert check(store, times=QUICK).of(Level.ERROR) == []
