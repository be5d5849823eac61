"""What Singer files name that no manifest names, and that a check may yet adopt."""

from __future__ import annotations

from singerlake.errors import BadMessage, CorruptFile, MissingFile, NotFound
from singerlake.format import blob as blobs
from singerlake.format import compression, message
from singerlake.format.keys import StreamKeys
from singerlake.lake import inventory, retired, source
from singerlake.lake.blobs.reference import Marks
from singerlake.lake.inventory import ListedFile
from singerlake.lake.snapshot import Snapshot
from singerlake.store import Store


def named(store: Store, now: Snapshot, marks: Marks) -> set[str]:
    """The paths that they name. A file that cannot be read is never adopted, and names nothing."""
    keys = now.keys
    found = inventory.take(store, keys.tap_id, keys.stream).streams.get(keys)
    if found is None:
        return set()
    rows = list(now.files())
    left = found.files.keys() - {row.path for row in rows}
    if left:
        left -= retired.find(store, found, rows).replaced
    paths: set[str] = set()
    for path in sorted(left):
        paths |= named_in(store, keys, found.files[path])
    return paths


def named_in(store: Store, keys: StreamKeys, file: ListedFile) -> set[str]:
    """The paths that one listed file names; none where it cannot be read."""
    key = keys.under(file.path)
    try:
        lines = compression.lines(source.blocks(store, key, file.name))
        schema = message.decode_schema(next(lines, b""))
        if not blobs.marked(schema):
            return set()
        said = [blobs.named(line, schema.key_properties) for line in lines]
    except (BadMessage, CorruptFile, MissingFile):
        return set()
    return {path for one in said if one is not None for path in one.paths.values()}


def gone_from(store: Store, keys: StreamKeys, file: ListedFile) -> list[str]:
    """The paths that a listed file names, and where nothing lies: it must not be adopted."""

    def is_gone(path: str) -> bool:
        try:
            store.size(keys.under(path))
        except NotFound:
            return True
        return False

    return sorted(filter(is_gone, named_in(store, keys, file)))
