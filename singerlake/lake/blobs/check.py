"""Checking files of any kind: bytes that records name are there, and are what their names say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial

from singerlake.errors import DamageError, NotFound, StaleSnapshot, UnknownStream
from singerlake.format import blob_keys
from singerlake.lake import snapshot
from singerlake.lake.blobs.live import Live, live
from singerlake.lake.blobs.orphan import named
from singerlake.lake.blobs.reference import Marks
from singerlake.lake.blobs.staged import BLOCK
from singerlake.lake.finding import Finding, Level
from singerlake.lake.inventory import StreamInventory
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store


def check_blobs(store: Store, found: StreamInventory, *, deep: bool) -> Iterator[Finding]:
    """What is wrong with the bytes of one stream; with `deep`, each of them is read and hashed.

    Where a file of the log cannot be read, that is found elsewhere, and orphans are not looked for:
    nobody knows what it names.
    """
    marks = Marks()
    known: Live | None = None
    others: set[str] = set()
    try:
        now = snapshot.take(store, found.keys)
        if now.by_listing or not (found.blobs or found.removals or marks.of(now)):
            return
        known = live(now, marks)
        if found.blobs.keys() - known.paths():
            others = named(store, now, marks)
    except (DamageError, StaleSnapshot, UnknownStream):
        known = None
    if known is not None:
        yield from _missing(store, found, known)
        yield from _orphans(found, known, others)
    yield from _announcements(found)
    if deep:
        for findings in in_parallel(partial(_hashed, store, found), sorted(found.blobs)):
            yield from findings


def _missing(store: Store, found: StreamInventory, known: Live) -> Iterator[Finding]:
    for path in sorted(known.paths() - found.blobs.keys()):
        key = found.keys.under(path)
        try:
            store.size(key)  # it may have come since the listing
        except NotFound:
            message = "a record names these bytes, and they are not there; restore them"
            yield Finding(Level.ERROR, "blob-missing", key, message)


def _orphans(found: StreamInventory, known: Live, others: set[str]) -> Iterator[Finding]:
    message = (
        "no record names these bytes: a put was interrupted or is under way, or they were "
        "forgotten; `singerlake vacuum --purge` removes them"
    )
    for path in sorted(found.blobs.keys() - others):
        if not known.names(path):
            yield Finding(Level.LEFTOVER, "orphan-blob", found.keys.under(path), message)


def _announcements(found: StreamInventory) -> Iterator[Finding]:
    message = (
        "a purge is removing bytes, or died: until this goes, the same bytes cannot be put again; "
        "`singerlake vacuum --purge` clears it a day after a purge that died"
    )
    for key in found.removals:
        yield Finding(Level.NOTE, "removal", key, message)


def _hashed(store: Store, found: StreamInventory, path: str) -> list[Finding]:
    key, digest = found.keys.under(path), hashlib.sha256()
    try:
        with store.open(key) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except NotFound:
        return []  # a purge was quicker, or `blob-missing` is among the findings next time
    if digest.hexdigest() == blob_keys.sha256_of(path):
        return []
    message = f"its bytes have the hash {digest.hexdigest()}: they are damaged; restore them"
    return [Finding(Level.ERROR, "blob-checksum", key, message)]
