"""Broken variants of the product: the controls. A suite that cannot see them proves nothing.

Some are stores that keep a condition less, the others are patches of the product's code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from singerlake.errors import AlreadyExists, OutcomeUnknown
from singerlake.format import keys
from singerlake.lake import (
    commit,
    lock,
    log,
    manifest_copy,
    naming,
    orphan_segments,
    rebuilding,
    replacement,
    upload,
    uploads,
)
from singerlake.lake.naming import Content
from singerlake.store import Promise, StoreWrapper
from tests.faults.truth import Shelf

Broken = Callable[[], contextlib.AbstractContextManager[Any]]


class ManifestOverwritten(Shelf):
    """The manifest is put whatever lies there: the lock alone keeps writers apart."""

    def replace(self, key: str, data: bytes, version: str) -> str:
        if key.endswith("manifest.json"):
            version = self.read(key).version
        return super().replace(key, data, version)


class PublishedOverwritten(Shelf):
    """What a projection publishes is put whatever another run has published since."""

    def replace(self, key: str, data: bytes, version: str) -> str:
        if key.endswith("published.json"):
            version = self.read(key).version
        return super().replace(key, data, version)


class ManifestMadeAnew(Shelf):
    """The first manifest of a stream is put whatever lies there."""

    def create(self, key: str, data: bytes | Path) -> str:
        if key.endswith("manifest.json"):
            self.delete(key)
        return super().create(key, data)


class FilesOverwritten(Shelf):
    """A Singer file is put whatever lies there."""

    def create(self, key: str, data: bytes | Path) -> str:
        if key.endswith(".singer.gz"):
            self.delete(key)
        return super().create(key, data)


class Weak(Shelf):
    """Not broken: a store that promises less, so that the writer looks again."""

    def promise(self) -> Promise:
        return Promise.BEST_EFFORT


class _Believing(StoreWrapper):
    def replace(self, key: str, data: bytes, version: str) -> str:
        try:
            return super().replace(key, data, version)
        except OutcomeUnknown:
            return "believed"


class _Deferring(StoreWrapper):
    """Uploads a Singer file only when the manifest names it."""

    def create(self, key: str, data: bytes | Path) -> str:
        if not key.endswith(".singer.gz"):
            return super().create(key, data)
        self._deferred = key, data
        return "later"

    def replace(self, key: str, data: bytes, version: str) -> str:
        answer = super().replace(key, data, version)
        if key.endswith("manifest.json"):
            super().create(*self._deferred)
        return answer


def the_manifest_before_the_file() -> contextlib.AbstractContextManager[Any]:
    land = upload.land
    return mock.patch.object(upload, "land", lambda store, *rest: land(_Deferring(store), *rest))


def conflict_for_a_lost_answer() -> contextlib.AbstractContextManager[Any]:
    """Nobody looks whether the commit is there already: it is made again."""
    replace = commit.replace

    def again(
        store: Any, keys: Any, head: Any, update: Any, is_done: Any, times: Any, **named: Any
    ) -> Any:
        return replace(store, keys, head, update, lambda now: False, times, **named)

    return mock.patch.object(commit, "replace", again)


def success_for_a_lost_answer() -> contextlib.AbstractContextManager[Any]:
    """Nobody looks whether the commit is there: it is taken for granted."""
    land = upload.land
    return mock.patch.object(upload, "land", lambda store, *rest: land(_Believing(store), *rest))


@contextlib.contextmanager
def names_used_again() -> Iterator[None]:
    """A name tells of times alone: once its file is purged, another gets it."""
    other, digits = Content.in_other_bytes, keys.digits_of
    clashed: set[str] = set()

    def in_other_bytes(content: Content) -> Content:
        changed = other(content)
        clashed.add(changed.checksum)
        return changed

    def digits_of(checksum: str) -> str:
        return digits(checksum) if checksum in clashed else "0" * 10

    with (
        mock.patch.object(Content, "in_other_bytes", in_other_bytes),
        mock.patch.object(keys, "digits_of", digits_of),
    ):
        yield


@contextlib.contextmanager
def another_file_for_ours() -> Iterator[None]:
    """What lies under the name already is taken for our own upload."""

    def put(store: Any, key: str, content: Any) -> bool:
        with contextlib.suppress(AlreadyExists):
            store.create(key, content.data)
        return True

    with names_used_again(), mock.patch.object(naming, "_put", put):
        yield


def a_vacuum_that_requires_nothing() -> contextlib.AbstractContextManager[Any]:
    """The merged file is put in place whatever became of the files it was made from."""

    def placed(rows: list[Any], replacements: list[Any], keys: Any) -> list[Any]:
        for item in replacements:
            paths = {file.path for file in item.files}
            at = next((at for at, row in enumerate(rows) if row.path in paths), len(rows))
            others = (row for row in rows[at:] if row.path not in paths)
            rows = [*rows[:at], item.merged, *others]
        return rows

    return mock.patch.object(replacement, "put_in_place", placed)


@contextlib.contextmanager
def segments_listed_too_late() -> Iterator[None]:
    """A clean-up lists the segments after its put, not before: some are those of writers."""
    remove = orphan_segments.remove

    def late(store: Any, keys: Any, listed: Any, manifest: Any) -> int:
        return remove(store, keys, orphan_segments.list_all(store, keys), manifest)

    with mock.patch.object(orphan_segments, "remove", late):
        yield


@contextlib.contextmanager
def looking_once() -> Iterator[None]:
    """A purge says nothing beforehand, and a rebuild does not look again at what it adopts."""
    with (
        mock.patch.object(commit, "touch", lambda store, keys, *_: log.read_head(store, keys)),
        mock.patch.object(rebuilding, "_are_there", return_value=True),
    ):
        yield


def asking_no_copy() -> contextlib.AbstractContextManager[Any]:
    """A purge beside an older manifest removes what only the copy of the manifest names."""
    return mock.patch.object(manifest_copy, "needed", return_value=set())


def orphans_left() -> contextlib.AbstractContextManager[Any]:
    """A fix that does not adopt the file of an interrupted commit."""
    return mock.patch.object(commit, "adopt", return_value=[])


def notes_that_end_with_their_job() -> contextlib.AbstractContextManager[Any]:
    """A job that is over leaves no note, also of an upload that may still arrive."""
    every = mock.Mock(side_effect=lambda found, held: [one.key for one in found])
    return mock.patch.object(uploads, "_noting", every)


def no_lock() -> contextlib.AbstractContextManager[Any]:
    """Not broken: the lock is a courtesy, and the commit is what is safe."""
    return mock.patch.object(lock, "held", return_value=contextlib.nullcontext())
