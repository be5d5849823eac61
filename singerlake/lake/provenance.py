"""Provenance: who committed each number of a log, when, and in which run, also after a vacuum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

from singerlake.errors import CorruptDocument, StaleSnapshot
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake.merge import read_merge
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store

BATCH = 1000
"""Rows that are looked at together: the documents of merged files among them are read at once."""


def committed_rows(
    store: Store, keys: StreamKeys, files: Iterable[File], *, strict: bool = False
) -> Iterator[File]:
    """A row for each file as it was committed, in the order of the log.

    A merged file gives the rows of the files that it stands for, each with the merged file's path
    and without `raw_bytes`. Where an older vacuum kept none, or the document cannot be read, its
    numbers have one row together: the merged file's own. Where it is `strict`, a document that
    cannot be read raises `CorruptDocument` or `StaleSnapshot`.
    """
    left = iter(files)
    while rows := list(islice(left, BATCH)):
        merged = [row for row in rows if row.merge is not None]
        rows_of = partial(_rows_of, store, keys, strict=strict)
        found = in_parallel(rows_of, merged) if merged else iter(())
        for row in rows:
            yield from next(found) if row.merge is not None else (row,)


def _rows_of(store: Store, keys: StreamKeys, file: File, *, strict: bool) -> list[File]:
    try:
        told = read_merge(store, keys, file)
    except (CorruptDocument, StaleSnapshot):
        if strict:
            raise
        return [file]
    return [file] if told is None else list(told.rows(file))
