"""A stream's schemas. The manifest knows them by hash; the catalogue and the files hold them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from singerlake.errors import BadMessage, BadName, CorruptFile, MissingFile
from singerlake.format import catalogue, message, singer_file
from singerlake.format.keys import FileName
from singerlake.format.schema import Schema
from singerlake.lake import registry, source
from singerlake.lake.log import Selection
from singerlake.lake.parallel import in_parallel
from singerlake.lake.snapshot import Snapshot


def schemas(snapshot: Snapshot, hashes: Iterable[str]) -> dict[str, Schema]:
    """The schemas with these hashes, as far as anything that can be read still tells them.

    The newest is in the catalogue; each other costs the first line of the file that the manifest
    names for it. Only where that does not tell, the log is searched for another.
    """
    wanted = set(hashes)
    found = {hashed: schema for hashed, schema in registered(snapshot).items() if hashed in wanted}
    versions = snapshot.manifest.versions
    paths = [versions[hashed].path for hashed in wanted - found.keys() if hashed in versions]
    for schema in in_parallel(partial(_in_file, snapshot), filter(None, paths)):
        if schema is not None and schema.hash() in wanted:
            found[schema.hash()] = schema
    return found | _searched(snapshot, wanted - found.keys())


def hashes(snapshot: Snapshot, until: int | None = None) -> list[str]:
    """The stream's schema versions, from the oldest to the newest; from the files by a listing.

    With `until`, those that files up to this number have. Where a later file has one that they do
    not have, that takes the segments that hold them.
    """
    versions = snapshot.manifest.versions
    if not versions:
        files = snapshot.files(Selection(until=until))
        return list(dict.fromkeys(file.schema_hash for file in files))
    known = sorted(versions, key=lambda hashed: versions[hashed].version)
    if until is None or until >= snapshot.manifest.last_sequence:
        return known
    used = _used(snapshot, until, known)
    return [hashed for hashed in known if hashed in used]


def in_use(snapshot: Snapshot, until: int | None = None) -> str:
    """The schema hash of the newest file, or of the newest up to a number; "" without files."""
    newest = snapshot.newest_file(until)
    return "" if newest is None else newest.schema_hash


def _used(snapshot: Snapshot, until: int, known: Collection[str]) -> set[str]:
    """The versions of the files up to a number; no further row is read once all are found."""
    found = {in_use(snapshot, until)}
    if found == {""} or found.issuperset(known):
        return found
    for file in snapshot.files(Selection(until=until)):
        found.add(file.schema_hash)
        if found.issuperset(known):
            break
    return found


def listed(snapshot: Snapshot) -> str:
    """The versions as errors name them: `v1 (StxYGwZ), v2 (…)`."""
    versions = snapshot.manifest.versions
    names = [
        f"v{versions[hashed].version} ({hashed})" if hashed in versions else hashed
        for hashed in hashes(snapshot)
    ]
    return ", ".join(names) or "none"


def _searched(snapshot: Snapshot, missing: set[str]) -> dict[str, Schema]:
    """The schemas of these versions, from the first readable file of each."""
    found: dict[str, Schema] = {}
    if not missing:
        return found
    for file in snapshot.files(Selection(schema_hashes=frozenset(missing))):
        if file.schema_hash in found:
            continue
        schema = _in_file(snapshot, file.path)
        if schema is None:
            continue  # another file of this version may tell
        found[file.schema_hash] = schema
        if len(found) == len(missing):
            break
    return found


def _in_file(snapshot: Snapshot, path: str) -> Schema | None:
    """The schema in a file's first line; None where it cannot be read."""
    key = snapshot.keys.under(path)
    name = FileName.parse(path.rpartition("/")[2])
    try:
        blocks = source.blocks(snapshot.store, key, name) if name else iter(())
        return message.decode_schema(singer_file.schema_line(blocks, path))
    except (BadMessage, BadName, CorruptFile, MissingFile):
        return None


def registered(snapshot: Snapshot) -> dict[str, Schema]:
    """The schema that the catalogue has, by its hash."""
    keys = snapshot.keys
    entry = (registry.read_catalogue(snapshot.store, keys.tap_id) or {}).get(keys.stream)
    if entry is None:
        return {}
    schema = catalogue.schema_of(entry)
    return {schema.hash(): schema}
