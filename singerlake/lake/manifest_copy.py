"""The copy of a manifest beside it: what the log was, as far as it was copied, when it is lost.

It is written where the manifest has changed much: rows were sealed or merged, or the log was made
again. So all but the newest hundred or two hundred commits are in it, for a request or two in a
hundred commits. Nobody reads it but `rebuild`, `check` and whoever writes the next one.
"""

from __future__ import annotations

import logging

from singerlake.errors import CorruptDocument, NotFound, SingerlakeError, StaleSnapshot
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Manifest
from singerlake.lake import continuation, log, retired
from singerlake.lake.log import Selection
from singerlake.store import Store, Stored

logger = logging.getLogger(__name__)


def read(store: Store, keys: StreamKeys) -> Manifest | None:
    """What was copied last; None where there is no copy that can be read."""
    return _decoded(store, keys, _stored(store, keys))


def keep(store: Store, keys: StreamKeys, manifest: Manifest) -> None:
    """Copy a manifest that was put in place, unless the copy proves more.

    The commit is done, and does not fail because of it: the next one that seals tries again.
    """
    try:
        stored = _stored(store, keys)
        before = _decoded(store, keys, stored)
        if before is not None and _proves_more(store, keys, before, manifest):
            return
        data = manifests.encode(manifest)
        if stored is None:
            store.create(keys.manifest_copy, data)
        else:
            store.replace(keys.manifest_copy, data, stored.version)
    except SingerlakeError as error:
        logger.warning("%s/%s: not written: %s", store.url, keys.manifest_copy, error)


def needed(store: Store, keys: StreamKeys, manifest: Manifest) -> set[str]:
    """The paths that the copy names, where it proves more than a manifest: a rebuild takes the
    copy's word, also one that is under way."""
    copy = read(store, keys)
    if copy is None or not _proves_more(store, keys, copy, manifest):
        return set()
    paths = {segment.path for segment in copy.segments}
    rows = list(copy.files)
    try:
        paths |= set(log.segment_paths(store, keys, copy))
        rows = list(log.files(store, keys, copy))
    except (CorruptDocument, StaleSnapshot):
        pass  # then its own rows are all that it proves
    merges = {row.merge.path for row in rows if row.merge is not None}
    return paths | {row.path for row in rows} | merges


def _stored(store: Store, keys: StreamKeys) -> Stored | None:
    try:
        return store.read(keys.manifest_copy)
    except NotFound:
        return None


def _decoded(store: Store, keys: StreamKeys, stored: Stored | None) -> Manifest | None:
    try:
        return None if stored is None else log.decode(store, keys, stored.data)
    except CorruptDocument:
        return None


def _proves_more(store: Store, keys: StreamKeys, copy: Manifest, manifest: Manifest) -> bool:
    """Whether a copy was made later than a manifest: by a quicker writer, or before an older
    manifest was put back. It is all that proves what came behind that one."""
    if copy.log_id != manifest.log_id:
        return continuation.common(copy, manifest.log_id) != 0
    if copy.last_sequence > manifest.last_sequence:
        return True
    return any(_is_other(store, keys, row, manifest) for row in copy.files[-1:])


def _is_other(store: Store, keys: StreamKeys, row: File, manifest: Manifest) -> bool:
    """Whether the number of a row is of another commit in the manifest. A look at the manifest
    tells, unless the number was sealed or merged since."""
    own = {file.sequence: file for file in manifest.files}.get(row.sequence)
    if own is not None and own.path == row.path:
        return False
    check = _check_at(store, keys, manifest, row.sequence) if own is None else own.check
    return check != row.check and check != "" != row.check


def _check_at(store: Store, keys: StreamKeys, manifest: Manifest, sequence: int) -> str:
    """`File.check` of the commit with this number; "" where nothing tells."""
    selected = Selection(since=sequence - 1, until=sequence)
    for file in log.files(store, keys, manifest, selected):
        documents = [] if file.merge is None else [file.merge.path]
        told = retired.read_all(store, keys, documents).values()
        rows = [file, *(row for merge in told for row in merge.rows(file))]
        return next((row.check for row in rows if row.sequence == sequence), "")
    return ""
