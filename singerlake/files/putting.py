"""Putting files: the bytes first, then one commit of the records that name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from singerlake.errors import SingerlakeError
from singerlake.files import local, metadata
from singerlake.files.entry import Entry
from singerlake.files.metadata import KEY, SCHEMA, Metadata
from singerlake.format.blob import with_files
from singerlake.lake import Lake, Writer, WriterOptions
from singerlake.lake.blobs.staged import Taken, not_told
from singerlake.runtime import REAL

MOST = 10_000
"""Files that one commit names."""


def put(
    lake: Lake,
    files: Iterable[str | Path],
    *,
    what: str,
    where: str,
    start: datetime | str | float | None = None,
    end: datetime | str | float | None = None,
    work_id: str | None = None,
    meta: Mapping[str, str] | None = None,
    name: str | None = None,
    options: WriterOptions | None = None,
    taken: Taken = not_told,
) -> list[Entry]:
    """Store files, and commit a record for each: none is in the lake before all its bytes are.

    `what` is the stream and `where` the tap. `start` and `end` are the time that the files are
    about, by default now; `name` is for a single file, by default its own. `taken` is told of the
    bytes that were read, each file's twice.

    Raises `BadFile` for a file that is missing or changes meanwhile: then no record is committed
    that names it, nor any after it.
    """
    now = REAL.now()
    given = Metadata(
        metadata.moment(now if start is None else start, now),
        None if end is None else metadata.moment(end, now),
        work_id,
        dict(meta or {}),
    )
    metadata.require_slug("what", what)
    writer = lake.writer(metadata.require_slug("where", where), options=options or _OPTIONS)
    try:
        # What comes from stdin is needed until it is committed.
        with writer, ExitStack() as held:
            made = _write(writer, what, map(str, files), given, name, taken, held)
            writer.commit()
    except SingerlakeError as error:
        writer.end("failed", reason=str(error))
        raise
    writer.end("complete")
    return made


_OPTIONS = WriterOptions(max_file_records=MOST)


def _write(
    writer: Writer,
    what: str,
    files: Iterable[str],
    given: Metadata,
    name: str | None,
    taken: Taken,
    held: ExitStack,
) -> list[Entry]:
    writer.schema(what, metadata.schema_line(what, SCHEMA, KEY))
    made = []
    for address in files:
        one = held.enter_context(local.origin(address, name, taken))
        blob = writer.attach(what, one.staged)
        record = given.record(REAL.new_id(), one.name, one.source, one.media_type, blob)
        line = with_files(metadata.record_line(what, record), {"source": blob.path})
        writer.write(line, as_it_is=True)
        made.append(Entry(record["id"], "source", blob.path, record, 0))
    return made
