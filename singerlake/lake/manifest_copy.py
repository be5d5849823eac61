"""The copy of a manifest beside it: what the log was, as far as it was copied, when it is lost.

It is written where the manifest has changed much: rows were sealed or merged, or the log was made
again. So all but the newest hundred or two hundred commits are in it, for a request or two in a
hundred commits. Nobody reads it but `rebuild`, `check` and whoever writes the next one.
"""

from __future__ import annotations

import logging

from singerlake.errors import CorruptDocument, NotFound, SingerlakeError
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Manifest
from singerlake.lake import continuation, log
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
        if before is not None and _proves_more(before, manifest):
            return
        data = manifests.encode(manifest)
        if stored is None:
            store.create(keys.manifest_copy, data)
        else:
            store.replace(keys.manifest_copy, data, stored.version)
    except SingerlakeError as error:
        logger.warning("%s/%s: not written: %s", store.url, keys.manifest_copy, error)


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


def _proves_more(copy: Manifest, manifest: Manifest) -> bool:
    """Whether a copy was made later than a manifest: by a quicker writer, or before an older
    manifest was put back. It is all that proves what came behind that one."""
    if copy.log_id == manifest.log_id:
        return copy.last_sequence > manifest.last_sequence or _contradicts(copy, manifest)
    return continuation.common(copy, manifest.log_id) != 0


def _contradicts(copy: Manifest, manifest: Manifest) -> bool:
    """Whether the newest number of a copy is of another commit in the manifest, as far as its own
    rows tell."""
    newest = copy.files[-1:]
    rows = {row.sequence: row for row in manifest.files}
    pairs = ((row, rows.get(row.sequence, row)) for row in newest)
    return any(
        one.path != other.path and one.check != other.check and one.check != "" != other.check
        for one, other in pairs
    )
