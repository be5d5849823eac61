"""Values that do not fit the type of their column are null, and counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

MISFITS = "_misfits"
"""The metadata column that has them: what was sent, by column."""


@dataclass(frozen=True)
class Misfit:
    """How many values of a column did not fit its type and are null; `example` is one as sent."""

    tap_id: str
    stream: str
    column: str
    count: int
    example: str


def found_in(batch: pa.RecordBatch) -> Iterator[tuple[str, int, str]]:
    """Of each column: how many rows of the batch have such a value, and the first of them."""
    rows = batch.column(MISFITS)
    if rows.null_count == len(rows):
        return
    sent: dict[str, list[str]] = {}
    for pairs in rows.drop_null().to_pylist():
        for column, text in pairs:
            sent.setdefault(column, []).append(text)
    for column, texts in sent.items():
        yield column, len(texts), texts[0]
