"""What lies in the store, by a listing: for check and rebuild, which trust no document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from singerlake.format import keys as key_names
from singerlake.format.keys import (
    ConsumerObject,
    FileName,
    PinObject,
    RunObject,
    StreamKeys,
    StreamObject,
    TapObject,
)
from singerlake.lake import registry, unknown
from singerlake.store import Listed, Store


@dataclass(frozen=True)
class ListedFile:
    """A Singer file by its path below the stream's folder."""

    path: str
    name: FileName
    size: int
    modified: datetime

    @property
    def schema_hash(self) -> str:
        return self.path.partition("/")[0]


@dataclass(frozen=True)
class Note:
    """Tells that a file waits for its job's commit; no file: that the job was withdrawn."""

    key: str
    job: str
    file: str
    modified: datetime


@dataclass(frozen=True)
class ListedBlob:
    """The bytes of a file of any kind; `modified` is the store's clock."""

    size: int
    modified: datetime


@dataclass
class StreamInventory:
    """The objects of one stream; `merges` with the time of each by the store's clock, `blobs` by
    path, `removals` the keys of what purges are removing."""

    keys: StreamKeys
    files: dict[str, ListedFile] = field(default_factory=dict)
    segments: list[str] = field(default_factory=list)
    merges: dict[str, datetime] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    locks: list[str] = field(default_factory=list)
    blobs: dict[str, ListedBlob] = field(default_factory=dict)
    removals: list[str] = field(default_factory=list)
    has_manifest: bool = False
    has_copy: bool = False


@dataclass
class RunInventory:
    """The objects of one tap's runs, by their paths below the folder of the runs."""

    tap_id: str
    documents: list[str] = field(default_factory=list)
    segments: list[str] = field(default_factory=list)
    has_log: bool = False


@dataclass
class Inventory:
    """Everything below `raw/`, or below a part of it; `pins` by name."""

    streams: dict[StreamKeys, StreamInventory] = field(default_factory=dict)
    runs: dict[str, RunInventory] = field(default_factory=dict)
    catalogues: set[str] = field(default_factory=set)
    pins: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def tap_ids(self) -> set[str]:
        return self.catalogues | self.runs.keys() | {keys.tap_id for keys in self.streams}

    def file_count(self) -> int:
        return sum(len(found.files) for found in self.streams.values())

    def of_tap(self, tap_id: str) -> list[StreamInventory]:
        return [found for keys, found in self.streams.items() if keys.tap_id == tap_id]


def take(store: Store, tap_id: str | None = None, stream: str | None = None) -> Inventory:
    """List the lake, one tap of it, or one stream of a tap."""
    folder = key_names.ROOT
    if tap_id is not None:
        folder = key_names.tap_folder(tap_id)
        if stream is not None:
            folder = StreamKeys(tap_id, stream).folder
    return _sorted_out(store.list(folder))


def take_known(store: Store, tap_id: str | None, stream: str | None) -> Inventory:
    """As `take`; raises `UnknownTap` or `UnknownStream` where the lake has no such thing.

    A tap or a stream that has vanished is known: nothing of it is found.
    """
    found = take(store, tap_id, stream)
    if tap_id is None or found.tap_ids():
        return found
    known = registry.read_catalogue(store, tap_id)
    if known is None and stream is None and unknown.has_vanished(store, tap_id):
        return found
    if known is None:
        raise unknown.missing_tap(store, tap_id)
    if stream is not None and stream not in known:
        raise unknown.missing_stream(store, tap_id, stream, known)
    return found


def _sorted_out(listing: Iterable[Listed]) -> Inventory:
    inventory = Inventory()
    for listed in listing:
        item = key_names.parse(listed.key)
        if isinstance(item, TapObject):
            inventory.catalogues.add(item.tap_id)
        elif isinstance(item, RunObject):
            _add_run(inventory.runs.setdefault(item.tap_id, RunInventory(item.tap_id)), item)
        elif isinstance(item, ConsumerObject):
            continue  # a consumer's own
        elif isinstance(item, PinObject):
            inventory.pins.append(item.name)
        elif isinstance(item, StreamObject):
            _add(inventory.streams.setdefault(item.keys, StreamInventory(item.keys)), item, listed)
        elif listed.key != key_names.LAKE_DOCUMENT:
            inventory.foreign.append(listed.key)
    return inventory


def _add_run(found: RunInventory, item: RunObject) -> None:
    if item.kind == "log":
        found.has_log = True
    elif item.kind == "segment":
        found.segments.append(item.path)
    else:
        found.documents.append(item.path)


def _add(found: StreamInventory, item: StreamObject, listed: Listed) -> None:
    if item.name is not None:
        found.files[item.path] = ListedFile(item.path, item.name, listed.size, listed.modified)
    elif item.kind == "manifest":
        found.has_manifest = True
    elif item.kind == "segment":
        found.segments.append(item.path)
    elif item.kind == "merge":
        found.merges[item.path] = listed.modified
    elif item.kind == "note":
        found.notes.append(Note(listed.key, item.job, item.about, listed.modified))
    elif item.kind == "blob":
        found.blobs[item.path] = ListedBlob(listed.size, listed.modified)
    elif item.kind == "removal":
        found.removals.append(listed.key)
    elif item.kind == "copy":
        found.has_copy = True
    else:
        found.locks.append(listed.key)
