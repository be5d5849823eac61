"""Which files of any kind the commits of a stream name, with the numbers of those commits.

    for found in files_of(stream.snapshot(), Selection(since=6, until=7)):
        found.sequence, found.property_name, found.sha256, found.record

Nothing in the manifest says it: a field there would be dropped by an older program. The lines say
it, and the schema hash in a file's path says whether they may: lines of versions without a mark are
never read, and `Marks` looks at each version once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from singerlake.errors import BadMessage, CorruptFile
from singerlake.format import blob as blobs
from singerlake.format import blob_keys
from singerlake.format.blob import Named
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.schema import Schema
from singerlake.lake import merge, schemas
from singerlake.lake.log import EVERYTHING, Selection
from singerlake.lake.snapshot import Snapshot


@dataclass(frozen=True)
class Reference:
    """One file that a record names; `path` is below the stream's folder."""

    sequence: int
    property_name: str
    path: str
    record: Mapping[str, Any]

    @property
    def sha256(self) -> str:
        return blob_keys.sha256_of(self.path)


class Marks:
    """The schema versions whose records may name files: looked at once, for they never change."""

    def __init__(self) -> None:
        self._known: dict[tuple[StreamKeys, str], Schema | None] = {}

    def knows(self, keys: StreamKeys, schema_hash: str) -> bool:
        return (keys, schema_hash) in self._known

    def of(self, snapshot: Snapshot, hashes: set[str] | None = None) -> dict[str, Schema]:
        """The marked versions by hash, among these or all; those that nothing tells any more are
        left out."""
        wanted = set(schemas.hashes(snapshot)) if hashes is None else hashes
        new = {each for each in wanted if (snapshot.keys, each) not in self._known}
        if new:
            found = schemas.schemas(snapshot, new)
            for each in new & found.keys():
                is_marked = bool(blobs.marked(found[each]))
                self._known[snapshot.keys, each] = found[each] if is_marked else None
        known = {each: self._known.get((snapshot.keys, each)) for each in wanted}
        return {each: schema for each, schema in known.items() if schema is not None}


def files_of(
    snapshot: Snapshot, selection: Selection = EVERYTHING, marks: Marks | None = None
) -> Iterator[Reference]:
    """The files that the selected commits name, in their order; properties in that of the schema.

    A caller that asks often keeps its `marks`: a version without a mark then costs no request.
    """
    for sequence, schema, said in said_of(snapshot, selection, marks):
        yield from _references(sequence, schema, said)


def files_in(snapshot: Snapshot, file: File, schema: Schema) -> Iterator[Reference]:
    """The files that one Singer file names, in the order of its lines; see `said_in`."""
    for sequence, said in said_in(snapshot, file, schema):
        yield from _references(sequence, schema, said)


def _references(sequence: int, schema: Schema, said: Named) -> Iterator[Reference]:
    for name in blobs.marked(schema):
        if name in said.paths:
            yield Reference(sequence, name, said.paths[name], said.record)


def said_of(
    snapshot: Snapshot, selection: Selection = EVERYTHING, marks: Marks | None = None
) -> Iterator[tuple[int, Schema, Named]]:
    """What the selected lines say of files, tombstones included, each with its number."""
    marked = (marks or Marks()).of(snapshot)
    if not marked:
        return
    chosen = replace(selection, schema_hashes=frozenset(marked))
    for file in snapshot.files(chosen):
        schema = marked[file.schema_hash]
        for sequence, said in said_in(snapshot, file, schema):
            if selection.holds(sequence):
                yield sequence, schema, said


def said_in(snapshot: Snapshot, file: File, schema: Schema) -> Iterator[tuple[int, Named]]:
    """What the lines of one file say, with the number that each line was committed under.

    Raises `CorruptFile` for a line that is no message.
    """
    numbers = _numbers(snapshot, file)
    lines = snapshot.lines(file)
    next(lines, None)  # the SCHEMA line
    for line in lines:
        sequence = next(numbers)
        try:
            said = blobs.named(line, schema.key_properties)
        except BadMessage as error:
            where = f"{snapshot.store.url}/{snapshot.keys.under(file.path)}"
            raise CorruptFile(f"{where}: {error}") from error
        if said is not None:
            yield sequence, said


def _numbers(snapshot: Snapshot, file: File) -> Iterator[int]:
    """The number of each line behind the SCHEMA line."""
    made = merge.read_merge(snapshot.store, snapshot.keys, file)
    for sequence, lines in made.parts if made is not None else ():
        for _ in range(lines):
            yield sequence
    while True:
        yield file.sequence
