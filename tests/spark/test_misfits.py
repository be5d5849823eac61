"""No value is nulled without being counted: in a read, and in what is published."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.errors import PySparkException
from pyspark.sql import Observation, SparkSession

from singerlake.cli import main
from singerlake.errors import ConfigError, TooManyMisfits, UnknownStream
from singerlake.projection.document import Settings
from singerlake.spark import read_current, read_stream, register
from singerlake.spark.read_published import published
from tests.spark.lakes import STREAM, land, record_line, rows, schema_line
from tests.spark.projecting import TAP, Projector

MONEY = {
    "id": {"type": "integer"},
    "total": {
        "type": "number",
        "multipleOf": 0.01,
        "minimum": -99999999999,
        "maximum": 99999999999,
    },
    "lines": {
        "type": "array",
        "items": {"type": "object", "properties": {"sku": {"type": "string"}}},
    },
}
EXPANSION = "28.519999999999999573674358543939888477325439453125"
APPEND = Settings(format="parquet", mode="append")
CURRENT = Settings(format="parquet", mode="current")


def orders(*texts: str) -> list[bytes]:
    return [schema_line(MONEY), *map(record_line, texts)]


@pytest.mark.parametrize("settings", [APPEND, CURRENT], ids=["append", "current"])
def test_money_that_a_double_expanded_is_published(
    projector: Projector, settings: Settings
) -> None:
    """Issue 16: 91,020 rows were published, with 90,876 totals and exit 0."""
    land(projector.lake, orders(*(f'{{"id":{n},"total":{EXPANSION}}}' for n in range(50))))
    done = projector.run(STREAM, settings)
    assert (done.records, done.misfits) == (50, {})
    assert {row["total"] for row in projector.rows(STREAM)} == {Decimal("28.52")}


def test_unconstrained_numbers_as_decimals(spark: SparkSession, tmp_path: Path) -> None:
    properties = {"id": {"type": "integer"}, "n": {"type": "number"}}
    land(tmp_path, [schema_line(properties), record_line(f'{{"id":1,"n":{EXPANSION}}}')])
    [row] = rows(read_stream(spark, tmp_path, TAP, STREAM, numbers="decimal", max_misfits=0))
    assert row["n"] == Decimal("28.519999999999999574")


BAD = (
    '{"id":1,"total":1.005,"lines":[{"sku":"a"},{"sku":7}]}',
    '{"id":2,"total":"soon"}',
    '{"id":3,"total":3}',
)


@pytest.mark.parametrize("settings", [APPEND, CURRENT], ids=["append", "current"])
def test_a_projection_fails_unless_misfits_are_allowed(
    projector: Projector, settings: Settings
) -> None:
    land(projector.lake, orders(*BAD))
    with pytest.raises(TooManyMisfits) as raised:
        projector.run(STREAM, settings)
    for part in (
        "3 values do not fit their columns, and none is allowed: total (decimal(13,2)) 2, such as ",
        "lines (array<struct<sku:string>>) 1, such as 7 at lines[].sku",
        "Nothing of stream 'things' was published",
        "--max-misfits N",
        "--numbers string",
    ):
        assert part in str(raised.value)
    with pytest.raises(UnknownStream):
        published(projector.out, TAP, STREAM)
    with pytest.raises(TooManyMisfits):
        projector.run(STREAM, settings, max_misfits=2)
    done = projector.run(STREAM, settings, max_misfits=3)
    assert done.misfits == {"total": 2, "lines": 1}
    found = sorted(projector.rows(STREAM), key=lambda row: row["id"])
    assert [row["total"] for row in found] == [None, None, Decimal(3)]
    assert "_misfits" not in found[0]


def test_what_is_published_counts_the_misfits_of_each_run(
    projector: Projector, caplog: pytest.LogCaptureFixture
) -> None:
    land(projector.lake, orders(*BAD))
    with caplog.at_level(logging.WARNING, "singerlake.spark"):
        first = projector.run(STREAM, APPEND, max_misfits=10)
    assert "3 values do not fit their columns, published as null" in caplog.text
    land(projector.lake, orders('{"id":4,"total":4}'))
    second = projector.run(STREAM, APPEND)
    assert (second.misfits, second.total_misfits) == ({}, first.misfits)
    land(projector.lake, orders('{"id":5,"total":"x"}'))
    with pytest.raises(TooManyMisfits, match="1 value does not fit"):
        projector.run(STREAM, APPEND)
    third = projector.run(STREAM, APPEND, max_misfits=1)
    assert (third.misfits, third.total_misfits) == ({"total": 1}, {"total": 3, "lines": 1})
    document = published(projector.out, TAP, STREAM)
    assert list(document.misfits.values()) == [{"total": 2, "lines": 1}, {"total": 1}]
    assert projector.run(STREAM, APPEND, full=True, max_misfits=4).total_misfits == {
        "total": 3,
        "lines": 1,
    }
    assert len(published(projector.out, TAP, STREAM).misfits) == 1


def test_a_replaced_misfit_is_not_in_the_current_table(projector: Projector) -> None:
    land(projector.lake, orders(*BAD))
    land(projector.lake, orders('{"id":1,"total":1,"lines":[]}', '{"id":2,"total":2}'))
    assert projector.run(STREAM, CURRENT).misfits == {}


def test_the_text_of_misfits_is_published_if_asked(projector: Projector) -> None:
    land(projector.lake, orders(*BAD[1:]))
    kept = Settings(format="parquet", mode="append", metadata=("_misfits",))
    projector.run(STREAM, kept, max_misfits=1)
    assert [row["_misfits"] for row in projector.rows(STREAM)] == [[("total", '"soon"')], None]


def test_the_command_says_what_did_not_fit(projector: Projector) -> None:
    land(projector.lake, orders(*BAD))
    command = ["project", projector.lake, projector.out, "--tap", TAP, "--json"]
    ran = CliRunner().invoke(main, command)
    assert ran.exit_code == 1, ran.output
    assert json.loads(ran.stdout)[0]["status"] == "failed"
    assert "total (decimal(13,2)) 2, such as" in ran.stderr
    assert "--max-misfits" in ran.stderr
    assert CliRunner().invoke(main, [*command, "--failfast"]).exit_code == 1
    ran = CliRunner().invoke(main, [*command, "--max-misfits", "3"])
    assert ran.exit_code == 0, ran.output
    [row] = json.loads(ran.stdout)
    assert row["misfits"] == row["total_misfits"] == {"total": 2, "lines": 1}


def counted(misfits: Observation) -> dict[str, Any]:
    return {name: count for name, count in misfits.get.items() if count}


def test_a_read_counts_its_misfits(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, orders(*BAD))
    misfits = Observation("misfits")
    df = read_stream(spark, tmp_path, TAP, STREAM, misfits=misfits)
    assert df.columns == ["id", "total", "lines"]
    assert df.count() == 3
    assert counted(misfits) == {"total": 2, "lines": 1}
    about = Observation("misfits of metadata")
    odd = tmp_path / "odd"
    land(odd, [*orders(), record_line({"id": 4, "total": 1}, version=2**70)])
    assert read_stream(spark, odd, TAP, STREAM, metadata=True, misfits=about).count() == 1
    assert counted(about) == {"_version": 1}
    land(tmp_path, orders('{"id":1,"total":1}'))
    of_current = Observation("misfits of current rows")
    df = read_current(spark, tmp_path, TAP, STREAM, misfits=of_current)
    assert df.count() == 3
    assert counted(of_current) == {"total": 1}


@pytest.mark.parametrize(
    "options",
    [{"maxMisfits": "2"}, {"max_misfits": "0"}, {"mode": "failfast"}],
    ids=["maxMisfits", "max_misfits", "mode"],
)
def test_a_plain_read_obeys_the_limit(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    land(tmp_path, orders(*BAD))
    register(spark)
    source = spark.read.format("singerlake").options(tap=TAP, stream=STREAM)
    with pytest.raises(PySparkException, match=r"such as .* line 2"):
        source.options(**options).load(str(tmp_path)).collect()


def test_a_plain_read_within_the_limit(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, orders(*BAD))
    df = read_stream(spark, tmp_path, TAP, STREAM, max_misfits=3, metadata=["_misfits"])
    assert [row["_misfits"] for row in rows(df, "id")] == [
        {"total": "1.005", "lines": '[{"sku":"a"},{"sku":7}]'},
        {"total": '"soon"'},
        None,
    ]


def test_a_limit_that_is_no_number_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, orders())
    with pytest.raises(ConfigError, match="maxMisfits is '-1'"):
        read_stream(spark, tmp_path, TAP, STREAM, max_misfits=-1)
