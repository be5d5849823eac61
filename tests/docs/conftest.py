"""Spark as the tests of Spark have it: a worker has one session, whoever asks first."""

from tests.spark.conftest import spark

__all__ = ["spark"]
