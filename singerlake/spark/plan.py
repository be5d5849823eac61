"""The plan of a read: which files, packed into which partitions.

It is made on the driver from the manifest alone: one GET, and those segments that may hold a
wanted file. A partition is a run of files in commit order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from math import ceil
from operator import itemgetter

import msgspec
from pyspark.sql.datasource import InputPartition

from singerlake.format.manifest import File
from singerlake.lake.log import EVERYTHING, Selection

OPEN_COST = 512 * 1024
"""What opening a file counts, in bytes: ten thousand tiny files are not one task either."""

GUESSED_RATIO = 8
"""Raw bytes for each compressed one, where no manifest tells."""


class FilesPartition(InputPartition):
    """Files that one task reads, in order: what was committed under the selected numbers."""

    def __init__(self, files: Sequence[File], selection: Selection = EVERYTHING) -> None:
        super().__init__(None)
        self.files = tuple(files)
        lowest, highest = self.files[0].lowest_sequence, self.files[-1].sequence
        numbers = selection.numbers and tuple(
            (first, last)
            for first, last in selection.numbers
            if first <= highest and last >= lowest
        )
        self.selection = Selection(selection.since, selection.until, numbers=numbers)

    def __repr__(self) -> str:
        return f"FilesPartition({len(self.files)} files)"


def cost(file: File) -> int:
    """A file's weight in a partition."""
    raw = file.raw_bytes if file.raw_bytes >= 0 else file.bytes * GUESSED_RATIO
    return raw + OPEN_COST


def pack(
    files: Iterable[File],
    selection: Selection,
    max_partition_bytes: int,
    parallelism: int,
    *,
    with_runs: bool = False,
) -> list[InputPartition]:
    """Runs of files, none of them above the size, except for a file that is so alone.

    Where that would make few, they are smaller: `parallelism` cores should all have work, and
    end at about the same time. `with_runs` keeps the run ids of the rows.
    """
    rows = list(files)
    total, cores = sum(map(cost, rows)), max(parallelism, 1)
    share = -(-total // cores)
    count = -(-total // min(max_partition_bytes, max(share, 4 * OPEN_COST)))
    if count > cores:
        count = -(-count // cores) * cores
    return [
        FilesPartition([_slim(file, with_runs) for file in run], selection)
        for even in _even_runs(rows, count)
        for run in _limited_runs(even, max_partition_bytes)
    ]


def _even_runs(files: Sequence[File], count: int) -> Iterator[list[File]]:
    """At most `count` runs of about the same weight: a file is in the one where its middle is.

    On the border it is in the earlier one: what takes longest had better begin first.
    """
    weights = list(map(cost, files))
    middles = (end - weight / 2 for end, weight in zip(accumulate(weights), weights, strict=True))
    scale = count / max(sum(weights), 1)
    numbered = zip((ceil(middle * scale) for middle in middles), files, strict=True)
    for _, run in groupby(numbered, key=itemgetter(0)):
        yield [file for _, file in run]


def _limited_runs(files: Iterable[File], size: int) -> Iterator[list[File]]:
    run: list[File] = []
    weight = 0
    for file in files:
        if run and weight + cost(file) > size:
            yield run
            run, weight = [], 0
        run.append(file)
        weight += cost(file)
    if run:
        yield run


def _slim(file: File, with_run: bool) -> File:
    """The row without what no task needs: a plan may have a hundred thousand of them."""
    return msgspec.structs.replace(file, writer_id="", run_id=file.run_id if with_run else "")
