"""Files as they were read just now: what a log can know of those that it does not name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from singerlake.errors import SchemaCollision
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.schema import Schema
from singerlake.lake import source
from singerlake.lake.inventory import ListedFile
from singerlake.store import Store


@dataclass(frozen=True)
class Examined:
    """A file's row, without a sequence yet; its schema; its number among its writer's files, 0
    where the file does not tell."""

    entry: File
    schema: Schema
    number: int

    @property
    def place(self) -> tuple[datetime, datetime, str, int, str]:
        """Sorts files as they probably came: by their records, those of one writer as it began
        them."""
        file = self.entry
        return file.last, file.first, file.writer_id, self.number, file.path


def examine(store: Store, keys: StreamKeys, file: ListedFile) -> Examined:
    """Read a listed file to its end. Raises `MissingFile` and `CorruptFile`."""
    facts = source.examine_listed(store, keys, file)
    number = facts.origin.number if facts.origin else 0
    return Examined(source.entry(file.path, file.name, facts), facts.content.schema, number)


def digests(keys: StreamKeys, files: Iterable[Examined]) -> dict[str, str]:
    """Each hash's schema digest. Raises `SchemaCollision` where a folder mixes two schemas."""
    found: dict[str, str] = {}
    for file in files:
        digest = file.schema.digest()
        if found.setdefault(file.entry.schema_hash, digest) != digest:
            raise SchemaCollision(
                f"{keys.folder}/{file.entry.schema_hash}: two different schemas share this hash, "
                f"the second in {file.entry.path}; move one of the two sets of files out of the "
                "lake, then run this again. Nothing of the stream was changed"
            )
    return found
