"""Checking the documents that list what there is: the lake's taps, and a tap's streams."""

from __future__ import annotations

from collections.abc import Iterator

from singerlake.errors import CorruptDocument
from singerlake.format import catalogue
from singerlake.format import keys as key_names
from singerlake.lake import registry
from singerlake.lake.finding import Finding, Level
from singerlake.lake.inventory import Inventory, StreamInventory
from singerlake.store import Store


def check_documents(store: Store, found: Inventory) -> Iterator[Finding]:
    """What these documents do not tell of what was found, or tell wrongly."""
    yield from check_catalogues(store, found)
    yield from check_lake_document(store, found)


def check_catalogues(store: Store, found: Inventory) -> Iterator[Finding]:
    """What the catalogues lack, or say wrongly."""
    for tap_id in sorted(found.tap_ids()):
        key = key_names.catalogue(tap_id)
        with_files = {one.keys.stream for one in found.of_tap(tap_id) if _has_files(one)}
        try:
            entries = registry.read_catalogue(store, tap_id)
        except CorruptDocument as error:
            yield Finding(Level.ERROR, "catalogue-corrupt", key, str(error), fixable=True)
            continue
        if entries is None:
            if with_files:
                message = f"missing, and the tap has {len(with_files)} streams with files"
                yield Finding(Level.ERROR, "catalogue-missing", key, message, fixable=True)
            continue
        for name in sorted(with_files - entries.keys()):
            message = f"stream {name!r} has files, and is not in it"
            yield Finding(Level.ERROR, "catalogue-stream", key, message, fixable=True)
        for name, entry in entries.items():
            actual = catalogue.schema_of(entry).hash()
            if catalogue.schema_hash(entry) != actual:
                said = catalogue.schema_hash(entry)
                message = f"stream {name!r}: it says schema hash {said}, its schema has {actual}"
                yield Finding(Level.ERROR, "catalogue-hash", key, message, fixable=True)


def _has_files(found: StreamInventory) -> bool:
    """A job registers its stream when it commits: until then its files do not count."""
    return not found.files.keys() <= {note.file for note in found.notes}


def check_lake_document(store: Store, found: Inventory) -> Iterator[Finding]:
    """Whether it names every tap that has a folder."""
    key = key_names.LAKE_DOCUMENT
    try:
        body = registry.read_lake_document(store)
    except CorruptDocument as error:
        yield Finding(Level.ERROR, "lake-document-corrupt", key, str(error), fixable=True)
        return
    if body is None:
        yield Finding(Level.ERROR, "lake-document-missing", key, "missing", fixable=True)
        return
    for tap_id in sorted(found.tap_ids() - body["taps"].keys()):
        message = f"tap {tap_id!r} has a folder, and is not in it"
        yield Finding(Level.ERROR, "lake-document-tap", key, message, fixable=True)
