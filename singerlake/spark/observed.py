"""Misfits of a DataFrame, counted by Spark as its rows pass."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from singerlake.decode.misfit import CORRUPT

MISFITS = "_misfits"
"""The metadata column that they are counted by."""


def observed(frame: DataFrame, misfits: Observation, columns: Iterable[str]) -> DataFrame:
    """The frame, whose misfits the observation has by column, after the frame's first use.

    A line that is no record counts for `_corrupt_record`.
    """
    counts = [f.count(f.col(MISFITS)[name]).alias(name) for name in (*columns, CORRUPT)]
    return frame.observe(misfits, *counts)
