"""The session of Spark that the tests of `tests/spark` have."""

from __future__ import annotations

from tests.spark.conftest import spark

__all__ = ["spark"]
