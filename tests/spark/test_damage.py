"""A file whose bits changed ends a read by Spark with an error that names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from singerlake.spark import read_stream
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line


def test_a_flipped_bit_in_a_file(spark: SparkSession, tmp_path: Path) -> None:
    """tests/faults/test_hostile_bits.py flips many, on the source as Spark calls it."""
    lines = [schema_line({"id": {"type": "integer"}}), *(record_line({"id": n}) for n in range(3))]
    land(tmp_path, lines)
    (file,) = tmp_path.rglob("*.singer.gz")
    data = file.read_bytes()
    assert read_stream(spark, tmp_path, TAP, STREAM).count() == 3
    for at in (4, 12, len(data) // 2):  # in the header the time and the origin; in the content
        flipped = bytearray(data)
        flipped[at] ^= 1
        file.write_bytes(bytes(flipped))
        with pytest.raises(PySparkException, match=file.name):
            read_stream(spark, tmp_path, TAP, STREAM).collect()
