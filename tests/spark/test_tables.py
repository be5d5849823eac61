"""The tables about a lake in Spark itself: batch, SQL and streaming; and what one run wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession

from singerlake.errors import ConfigError
from singerlake.lake.vacuum import vacuum
from singerlake.spark import read_stream, read_table, register
from singerlake.spark.tables.columns import TABLES
from singerlake.spark.tables.options import parse
from singerlake.store import open_store
from tests.lake.landing import KEYS, STREAM, TAP
from tests.lake.merging import OPTIONS, purge_at_once
from tests.lake.running import Running, land_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two runs beside each other, and one that died, which a vacuum and a purge then merge."""
    store = open_store(tmp_path / "lake")
    one, two = Running(store, "one"), Running(store, "two")
    for number in (0, 2):
        one.commit([number])
        two.commit([number + 1])
    one.end()
    two.end("failed")
    land_run(store, "dead", [4, 5], outcome=None)
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    return tmp_path / "lake"


def test_as_batches_and_in_sql(spark: SparkSession, root: Path) -> None:
    commits = read_table(spark, root, "commits")
    assert commits.schema == TABLES["commits"]
    by_run = {
        row["run_id"]: row["n"]
        for row in commits.groupBy("run_id")
        .agg({"*": "count"})
        .withColumnRenamed("count(1)", "n")
        .collect()
    }
    assert by_run == {"one": 2, "two": 2, "dead": 1}
    register(spark)
    spark.sql(
        f"CREATE TEMPORARY VIEW runs_of_lake USING singerlake OPTIONS (path '{root}', table 'runs')"
    )
    found = spark.sql(
        "SELECT run_id, outcome, left.last_sequence AS last FROM runs_of_lake "
        "LATERAL VIEW explode(streams) AS left ORDER BY run_id"
    ).collect()
    assert [tuple(row) for row in found] == [
        ("dead", "open", 5),
        ("one", "complete", 3),
        ("two", "failed", 4),
    ]
    # The files of the table are those that the records name, number by number.
    records = read_stream(spark, root, TAP, STREAM, metadata=["_sequence", "_file", "_run_id"])
    files = read_table(spark, root, "files", tap=TAP, stream=STREAM)
    joined = records.join(
        files,
        (files.last_sequence == records._sequence)
        & (files.file == records._file)
        & (files.run_id == records._run_id),
    )
    assert joined.count() == 6
    chosen = (
        spark.read.format("singerlake")
        .option("table", "files")
        .schema("file string, records bigint")
    )
    assert sum(row["records"] for row in chosen.load(str(root)).collect()) == 6


def test_what_one_run_wrote(spark: SparkSession, root: Path) -> None:
    def ids(df: DataFrame) -> list[int]:
        return sorted(row["id"] for row in df.collect())

    assert ids(read_stream(spark, root, TAP, STREAM, run_id="two")) == [1, 3]
    assert ids(read_stream(spark, root, TAP, STREAM, run_id="dead")) == [4, 5]
    plain = spark.read.format("singerlake").option("tap", TAP).option("stream", STREAM)
    assert ids(plain.option("runId", "one").load(str(root))) == [0, 2]
    with pytest.raises(ConfigError, match="runs and runId are given both"):
        read_stream(spark, root, TAP, STREAM, run_id="one", runs="last")
    with pytest.raises(PySparkException, match="no run 'none'"):
        ids(read_stream(spark, root, TAP, STREAM, run_id="none"))


class Sink:
    """Rows by batch; the first time that it is told to, a batch fails after its rows came."""

    def __init__(self, spark: SparkSession, root: Path, table: str) -> None:
        register(spark)
        self.spark, self.root, self.table = spark, root, table
        self.batches: dict[int, list[Row]] = {}
        self.breaks = False

    def __call__(self, df: DataFrame, batch: int) -> None:
        self.batches[batch] = df.collect()
        if self.breaks:
            raise RuntimeError("the sink broke")

    def run(self) -> None:
        reader = self.spark.readStream.format("singerlake").option("table", self.table)
        writer = reader.load(str(self.root)).writeStream.foreachBatch(self)
        checkpoint = self.root.parent / f"checkpoint-{self.table}"
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query.start().awaitTermination(250)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        found = [row for _, batch in sorted(self.batches.items()) for row in batch]
        return [tuple(row[name] for name in columns) for row in found]


@pytest.mark.slow
def test_as_a_stream_that_is_restarted(spark: SparkSession, root: Path) -> None:
    sink, store = Sink(spark, root, "commits"), open_store(root)
    sink.run()
    land_run(store, "later", [6], [7])
    sink.breaks = True
    with pytest.raises(StreamingQueryException, match="the sink broke"):
        sink.run()
    sink.breaks = False
    vacuum(store, KEYS, OPTIONS)
    land_run(store, "last", [8])
    sink.run()  # first the batch that broke, then what came since
    sink.run()  # nothing new
    rows = sink.rows("last_sequence", "run_id")
    assert rows == [
        (1, "one"), (2, "two"), (3, "one"), (4, "two"), (5, "dead"),
        (6, "later"), (7, "later"), (8, "last"),
    ]  # fmt: skip
    assert len(sink.batches) == 3


def test_what_cannot_be_is_refused(spark: SparkSession, root: Path) -> None:
    with pytest.raises(ConfigError, match="expected commits, files, runs"):
        read_table(spark, root, "commit")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no option columns"):
        parse({"path": str(root), "table": "files", "columns": "id"})
    with pytest.raises(PySparkException, match="no tap 'tap-none'"):
        read_table(spark, root, "files", tap="tap-none").collect()
    with pytest.raises(PySparkException, match="has no stream 'order'"):
        read_table(spark, root, "commits", tap=TAP, stream="order").collect()
    reader = spark.read.format("singerlake").option("table", "files").schema("records string")
    with pytest.raises(PySparkException, match="has no column records string"):
        reader.load(str(root)).collect()
