"""Record types as Spark's, and back."""

from __future__ import annotations

from hypothesis import given
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from singerlake.decode.arrow_type import arrow_schema
from singerlake.format import json_schema
from singerlake.format import record_type as types
from singerlake.format.record_type import Type
from singerlake.spark import singer_types
from singerlake.spark.spark_type import from_spark, to_spark
from tests.format.made import TYPES


@given(TYPES)
def test_what_spark_writes_is_read_back_with_its_type(kind: Type) -> None:
    spark_type = to_spark(kind)
    assert json_schema.of(singer_types.of(spark_type)) == kind
    assert to_spark(from_spark(spark_type) or types.NULL) == spark_type


@given(TYPES)
def test_a_type_says_what_spark_says(kind: Type) -> None:
    """Without Spark, and in Arrow as well: all readers have the same columns."""
    assert str(kind) == to_spark(kind).simpleString()
    spark = StructType([StructField("a", to_spark(kind))])
    assert arrow_schema([("a", kind)], ()).equals(to_arrow_schema(spark, timezone="UTC"))
