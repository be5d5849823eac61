"""The lake in Spark: streams as DataFrames, on any Spark, from any store.

from singerlake.spark import read_stream, session

spark = session()
orders = read_stream(spark, "s3://bucket/lake", "tap-x--meltano", "orders")
"""

from singerlake.decode.version_union import Conflict
from singerlake.projection import published_files
from singerlake.spark.count import count
from singerlake.spark.file_content import read_files
from singerlake.spark.lend import lend
from singerlake.spark.read import merge_report, read_stream, read_table, read_tap
from singerlake.spark.session import java_home, session
from singerlake.spark.source import register
from singerlake.spark.views import current, read_current

__all__ = [
    "Conflict",
    "count",
    "current",
    "java_home",
    "lend",
    "merge_report",
    "published_files",
    "read_current",
    "read_files",
    "read_stream",
    "read_table",
    "read_tap",
    "register",
    "session",
]
