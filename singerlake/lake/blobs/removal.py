"""What a purge is about to remove: announced first, so that nobody names it meanwhile.

A blob has its name for ever: the same bytes may be put again while a purge removes them, and no
condition of a store tells the two apart. So the commit decides (docs/decisions/files.md):

- The purge writes what it will remove, then gives the manifest a new version itself, and then
  removes what the log, read from that version, does not name.
- A writer reads the manifest, then the announcements, then looks for its blobs, and commits only
  on that manifest, or on those that followed it by the writer's own commits.

Whoever commits later than the purge's version has read the announcement, and waits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from singerlake.errors import NotFound
from singerlake.format import blob_keys
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys, StreamObject
from singerlake.lake.commit import create_anew
from singerlake.store import Store

KIND = "singerlake.removal"

OVER = timedelta(days=1)
"""By the store's clock: an announcement so old is of a purge that died. A living purge has given up
long before, see `purge.LONGEST`."""


@dataclass(frozen=True)
class Announced:
    """What purges are removing now; `everything` where an announcement cannot be read."""

    paths: frozenset[str] = frozenset()
    everything: bool = False

    def __contains__(self, path: object) -> bool:
        return self.everything or path in self.paths


@dataclass(frozen=True)
class Announcement:
    """One purge's, as a listing tells of it."""

    key: str
    modified: datetime


def listed(store: Store, keys: StreamKeys) -> Iterator[Announcement]:
    for row in store.list(keys.under(blob_keys.removals_folder())):
        item = key_names.parse(row.key)
        if isinstance(item, StreamObject) and item.kind == "removal":
            yield Announcement(row.key, row.modified)


def announced(store: Store, keys: StreamKeys) -> Announced:
    """What is being removed: a listing, and a request for each purge that is at work."""
    paths: set[str] = set()
    for one in listed(store, keys):
        try:
            found = _decode(store.read(one.key).data)
        except NotFound:
            continue  # that purge has ended since
        if found is None:
            return Announced(everything=True)
        paths |= found
    return Announced(frozenset(paths))


def announce(store: Store, keys: StreamKeys, unique: str, paths: Iterable[str]) -> str:
    """Returns the key of the announcement, which goes when the purge has ended."""
    body = {"format": KIND, "format_version": 1, "blobs": sorted(paths)}
    key = keys.under(blob_keys.removal_path(unique))
    create_anew(store, key, json.dumps(body, separators=(",", ":")).encode() + b"\n")
    return key


def _decode(data: bytes) -> set[str] | None:
    """The paths; None where nobody knows them."""
    try:
        body = json.loads(data)
        known = body["format"] == KIND and body["format_version"] == 1
        return {str(path) for path in body["blobs"]} if known else None
    except (ValueError, KeyError, TypeError):
        return None
