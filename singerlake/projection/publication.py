"""Publishing: one conditional put makes a version visible, whole, or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from singerlake.errors import (
    AlreadyExists,
    Changed,
    CommitConflict,
    CorruptDocument,
    DamageError,
    NotFound,
    OutcomeUnknown,
)
from singerlake.lake.patience import Patience
from singerlake.projection import document as documents
from singerlake.projection.document import Published, PublishedFile, PublishedKeys
from singerlake.store import Promise, Store

MAX_WAIT = 60.0
SETTLE = 1.0


@dataclass(frozen=True)
class PublishedHead:
    """What is published, and the version of the object that a put must still find there."""

    published: Published | None
    version: str = ""


def read_published_head(store: Store, keys: PublishedKeys) -> PublishedHead:
    """What is published of a stream now. Raises `CorruptDocument`."""
    where = f"{store.url}/{keys.document}"
    try:
        stored = store.read(keys.document)
    except NotFound:
        return PublishedHead(None)
    try:
        return PublishedHead(documents.decode(stored.data, where), stored.version)
    except CorruptDocument:
        raise CorruptDocument(
            f"{where}: not the document that a projection wrote, to the byte; remove "
            "it and run with --full to publish the stream anew"
        ) from None


def require_staged(store: Store, keys: PublishedKeys, files: Iterable[PublishedFile]) -> None:
    """Raises `DamageError` unless every file lies in the store, whole."""
    wanted = {keys.under(file.path): file.bytes for file in files}
    runs = {documents.run_of(keys.path(key)) for key in wanted}
    found = {row.key: row.size for run_id in runs for row in store.list(f"{keys.data}/{run_id}")}
    wrong = [key for key, size in wanted.items() if found.get(key) != size]
    if wrong:
        raise DamageError(
            f"{store.url}: {len(wrong)} files of this run are gone, or have another size than was "
            f"written, such as {wrong[0]}; nothing was published. Run it again"
        )


def put(store: Store, keys: PublishedKeys, head: PublishedHead, new: Published) -> None:
    """Publish `new` in the place of `head`, once, whatever the store answers.

    Raises `CommitConflict` where another run published since `head` was read. Nothing of
    this one is visible then; it may have been, where a later run published all anew.
    """
    data = documents.encode(new)
    patience = Patience(MAX_WAIT)
    while True:
        try:
            if head.version:
                store.replace(keys.document, data, head.version)
            else:
                store.create(keys.document, data)
        except (AlreadyExists, Changed, OutcomeUnknown) as error:
            # The put may have been refused because of its own success: look who is there.
            now = read_published_head(store, keys)
            if _is_in(now, new):
                return
            if now.version == head.version and patience.pause():
                continue
            raise _lost(store, keys, now) from error
        if store.promise() is Promise.CONDITIONAL:
            return
        # No condition held another run back, so see who won.
        time.sleep(SETTLE)
        now = read_published_head(store, keys)
        if _is_in(now, new):
            return
        raise _lost(store, keys, now)


def _is_in(now: PublishedHead, new: Published) -> bool:
    """Whether `new` was published: also where later runs have added to it."""
    found = now.published
    return found is not None and (found.run_id == new.run_id or new.run_id in found.runs)


def _lost(store: Store, keys: PublishedKeys, now: PublishedHead) -> CommitConflict:
    winner = f"run {now.published.run_id} published" if now.published else "it was removed"
    return CommitConflict(
        f"{store.url}/{keys.document}: {winner} while this run was at work; nothing of this run "
        "was published. Run it again"
    )
