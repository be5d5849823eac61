"""What a projection asks of the lake, in all of its processes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from singerlake.decode import version_union
from singerlake.projection.document import Settings
from tests.servers import S3Server
from tests.spark.projecting import APPEND, CURRENT, TAP, Projector, simple


@pytest.fixture
def merges(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The schema merges of this process."""
    found: list[Any] = []
    real = version_union.merge

    def counted(*given: Any, **named: Any) -> Any:
        found.append(given)
        return real(*given, **named)

    monkeypatch.setattr(version_union, "merge", counted)
    return found


@pytest.mark.parametrize(
    ("settings", "catalogues"),
    [(APPEND, 1), (CURRENT, 2)],
    ids=["append", "current"],
)
def test_a_run_reads_one_manifest_and_merges_schemas_once(
    moto_server: S3Server,
    spark: SparkSession,
    merges: list[Any],
    settings: Settings,
    catalogues: int,
) -> None:
    """The manifest once more for the last look before the put. A merge reads the catalogue, here or
    in a process of Spark's; and `current` looks there for the replication method."""
    bucket = moto_server.new_bucket()
    options = moto_server.storage_options()
    projector = Projector(spark, f"s3://{bucket}/lake", f"s3://{bucket}/out", options)
    projector.land(simple(range(3)), simple(range(2, 5), added=7))
    before = len(moto_server.requests(bucket))
    assert projector.run(settings=settings).status == "published"
    asked = Counter(moto_server.requests(bucket)[before:])
    tap = f"GET lake/raw/{TAP}"
    assert asked[f"{tap}/orders/manifest.json"] == 2
    assert (len(merges), asked[f"{tap}/catalogue.json"]) == (1, catalogues)
    assert projector.ids() == ([0, 1, 2, 2, 3, 4] if settings is APPEND else [0, 1, 2, 3, 4])
