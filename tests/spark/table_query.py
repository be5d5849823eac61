"""A streaming query of a table, played as Spark plays it.

It keeps an offset, asks for the next, plans the rows between the two, and is started again from its
checkpoint at any time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.datasource import ReadAllAvailable

from singerlake.spark.tables.columns import TABLES
from singerlake.spark.tables.options import parse
from singerlake.spark.tables.reader import TableReader
from singerlake.spark.tables.stream import TableStreamReader

Row = dict[str, Any]


class Query:
    """A streaming query: its checkpoint, and all rows that it gave."""

    def __init__(self, root: Path, table: str, **given: str) -> None:
        self.options = parse({"path": str(root), "table": table, **given})
        self.offset = self.ahead = json.dumps(self.reader().initialOffset())
        self.rows: list[Row] = []

    def reader(self) -> TableStreamReader:
        return TableStreamReader(self.options, TABLES[self.options.table])

    def batch(self) -> list[Row]:
        """What a query gives that is started once more: the batch that was under way when it ended,
        whose offset Spark wrote down first, and one with what is new."""
        found = self.planned()
        start = json.loads(self.offset)
        self.ahead = json.dumps(self.reader().latestOffset(start, ReadAllAvailable()))
        return found + self.planned()

    def planned(self) -> list[Row]:
        start, end = json.loads(self.offset), json.loads(self.ahead)
        if end == start:
            return []
        found, again = self.between(start, end), self.between(start, end)
        assert found == again
        self.offset = self.ahead
        self.rows += found
        return found

    def between(self, start: Row, end: Row) -> list[Row]:
        reader = self.reader()
        parts = reader.partitions(start, end)
        return [row for one in parts for batch in reader.read(one) for row in batch.to_pylist()]


def table(root: Path, name: str, **given: str) -> list[Row]:
    """The table as a batch."""
    reader = TableReader(parse({"path": str(root), "table": name, **given}), TABLES[name])
    parts = reader.partitions()
    return [row for one in parts for batch in reader.read(one) for row in batch.to_pylist()]
