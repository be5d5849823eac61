"""One stream on its way to the store, and the commits of several."""

from __future__ import annotations

from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any

from singerlake.errors import MissingKey
from singerlake.format import message
from singerlake.format.block import RecordDecoder
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.run import RunStream
from singerlake.format.schema import Schema
from singerlake.lake.blobs.staged import VerifiedUpload
from singerlake.lake.blobs.watch import Watch
from singerlake.lake.log import Head
from singerlake.lake.spool import OpenFile


@dataclass
class Lane:
    """One stream on its way to the store: the file that is open, and the commits behind it.

    `number` is that of the open file among the writer's pending work, `landed` sums up the commits.
    `marked` are the properties that name files of any kind, `attached` what the open file's records
    name, by path, with the uploads under way.
    """

    keys: StreamKeys
    line: bytes
    schema: Schema
    schema_hash: str
    decoder: RecordDecoder
    open: OpenFile | None = None
    number: int = 0
    head: Head | None = None
    tail: Future[tuple[File, ...]] | None = None
    landed: RunStream = field(default_factory=RunStream)
    marked: tuple[str, ...] = ()
    watch: Watch | None = None
    attached: dict[str, tuple[VerifiedUpload, Future[None]]] = field(default_factory=dict)

    def require_keys(self, line: bytes) -> None:
        """Raises `MissingKey` where a record has no value for one of its key properties."""
        missing = set(self.schema.key_properties) - message.record_of(line).keys()
        if missing:
            raise MissingKey(
                f"a record of stream {self.keys.stream!r} has no {', '.join(sorted(missing))}: "
                "expected a value for each of its key properties"
            )


@dataclass(frozen=True)
class Flush:
    """Everything that was written before `Writer.flush`, on its way to the store."""

    _before: tuple[Future[Any], ...]
    _commits: tuple[Future[tuple[File, ...]], ...]

    def done(self) -> bool:
        return all(work.done() for work in (*self._before, *self._commits))

    def result(self) -> tuple[File, ...]:
        """Wait until it is committed, and all that came before; raises what stopped any of it.

        Returns the files since the flush before.
        """
        wait((*self._before, *self._commits))
        for work in self._before:
            work.result()
        return tuple(file for landing in self._commits for file in landing.result())
