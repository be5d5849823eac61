"""Misfits of a DataFrame, counted by Spark as its rows pass."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as f

from singerlake.decode.misfit import CORRUPT
from singerlake.decode.request import ENVELOPE_COLUMNS

MISFITS = "_misfits"
"""The metadata column that they are counted by."""


def observed(
    frame: DataFrame, misfits: Observation, columns: Iterable[str], metadata: Iterable[str]
) -> DataFrame:
    """The frame, whose misfits the observation has by column, after the frame's first use.

    `columns` are the record's, `metadata` those beside them: a tap may send a version that is no
    `bigint`. A line that is no record counts for `_corrupt_record`.
    """
    sent = (name for name in metadata if name in ENVELOPE_COLUMNS)
    names = dict.fromkeys([*columns, *sent, CORRUPT])
    counts = [f.count(f.col(MISFITS)[name]).alias(name) for name in names]
    return frame.observe(misfits, *counts)
