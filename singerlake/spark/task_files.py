"""The files that one task of a write uploads: lines in, Singer files out, nothing committed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import WriterCommitMessage

from singerlake.errors import ConfigError
from singerlake.format import compression
from singerlake.format import keys as key_names
from singerlake.format.block import Summary
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.origin import Origin
from singerlake.format.schema import Schema
from singerlake.lake import naming, uploads
from singerlake.lake.identity import new_run_id
from singerlake.lake.naming import Content, Name
from singerlake.lake.scratch import temporary_folder
from singerlake.lake.spool import CHUNK, Spool
from singerlake.spark import encode
from singerlake.spark import options as read_options
from singerlake.store import Store, open_store

MAX_FILE_BYTES = 64 * 1024 * 1024

_KNOWN = ("path", "tap", "stream", "key_properties", "run_id", "storage_options")


@dataclass(frozen=True)
class WriteOptions:
    """Where to write. `run_id` names the run in the manifest."""

    root: str
    tap: str
    stream: str
    key_properties: tuple[str, ...] = ()
    run_id: str = ""
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def keys(self) -> StreamKeys:
        return StreamKeys(self.tap, self.stream)

    def store(self) -> Store:
        return open_store(self.root, self.storage_options)


@dataclass(frozen=True)
class Uploaded(WriterCommitMessage):
    """The files that one task has uploaded."""

    files: tuple[File, ...]


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """Read Spark's options. Raises `ConfigError`."""
    given = {name.lower(): value for name, value in options.items()}
    unknown = sorted(set(given) - set(_KNOWN))
    if unknown:
        raise ConfigError(
            f"writing to a lake has no option {', '.join(unknown)}: expected some of "
            f"{', '.join(_KNOWN)}"
        )
    for name in ("path", "tap", "stream"):
        if not given.get(name):
            raise ConfigError(
                f"writing to a lake needs the option {name}. Spark hands the options of a table to "
                'reads only: in the place of INSERT INTO, use df.write.format("singerlake")'
            )
    key_names.escape(given["tap"])
    key_names.escape(given["stream"])
    return WriteOptions(
        root=read_options.absolute(given["path"]),
        tap=given["tap"],
        stream=given["stream"],
        key_properties=read_options.names(given.get("key_properties", "")),
        run_id=given.get("run_id") or new_run_id(),
        storage_options=read_options.storage_options(given),
    )


@dataclass(frozen=True)
class WriteJob:
    """What all tasks of a write have in common. `id` stands in the notes of its uploads.

    The store is asked for its promise once, and carries the answer along to every process.
    """

    options: WriteOptions
    store: Store
    schema: Schema
    writer_id: str
    id: str
    time: datetime

    def schema_line(self) -> bytes:
        message = {
            "type": "SCHEMA",
            "stream": self.options.stream,
            "schema": self.schema.schema,
            "key_properties": list(self.schema.key_properties),
        }
        return json.dumps(message, ensure_ascii=False).encode() + b"\n"


class TaskFiles:
    """The files of one task: lines in, uploads out."""

    def __init__(self, job: WriteJob, partition: int) -> None:
        self._uploaded: list[File] = []
        self._job, self._partition = job, partition
        self._folder = temporary_folder()
        self._spool: Spool | None = None
        self._summary, self._buffer = Summary(), bytearray()
        self._number = 0

    def add(self, lines: encode.Lines) -> None:
        self._buffer += lines.data
        self._summary += lines.summary
        if len(self._buffer) >= CHUNK:
            self._send()
            if self._spool is not None and self._spool.bytes >= MAX_FILE_BYTES:
                self._upload(self._spool)

    def finish(self) -> list[File]:
        self._send()
        if self._spool is not None:
            self._upload(self._spool)
        return self._uploaded

    def close(self) -> None:
        self._folder.cleanup()

    def _send(self) -> None:
        if not self._buffer:
            return
        if self._spool is None:
            self._number += 1
            job = self._job
            number = self._partition * 1_000_000 + self._number
            origin = Origin(job.writer_id, job.options.run_id, number)
            path = Path(self._folder.name, str(self._number))
            self._spool = Spool(path, compression.DEFAULT, job.schema_line(), origin)
        self._spool.add(bytes(self._buffer))
        self._buffer.clear()

    def _upload(self, spool: Spool) -> None:
        job, summary = self._job, self._summary
        keys = job.options.keys
        first, last = summary.first or job.time, summary.last or job.time
        name = Name(keys.stream, job.schema.hash(), first, last)

        def note(path: str) -> str:
            return uploads.note(job.store, keys, job.id, path, job.writer_id, job.options.run_id)

        content = Content(spool.finish(), spool.checksum, spool.bytes)
        content = naming.create(job.store, keys, name, content, note)
        self._uploaded.append(
            File(
                path=name.path(content.checksum),
                sequence=0,
                records=summary.records,
                bytes=content.bytes,
                raw_bytes=spool.raw_bytes,
                first=first,
                last=last,
                checksum=content.checksum,
                writer_id=job.writer_id,
                run_id=job.options.run_id,
                committed=job.time,
            )
        )
        if isinstance(content.data, Path):
            content.data.unlink()
        self._spool, self._summary = None, Summary()
