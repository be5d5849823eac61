"""A writer's watch over the bytes that its records name: they are there when the record is.

See `removal` for the rule that this keeps against purges.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from singerlake.errors import AlreadyExists, BusyError, CorruptFile, NotFound
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Commit, Manifest
from singerlake.lake import commit
from singerlake.lake.blobs import removal
from singerlake.lake.blobs.removal import Announced
from singerlake.lake.blobs.staged import VerifiedUpload
from singerlake.lake.lock import LockTimes
from singerlake.lake.patience import Patience
from singerlake.store import Store


class Watch:
    """Of one stream of one writer.

    An `epoch` begins when a manifest was read that another wrote: then the announcements are read,
    and what was looked for in an earlier epoch is looked for again before it is named. `own` are
    the ids of that manifest's commit and of the writer's own commits since.
    """

    def __init__(self, store: Store, keys: StreamKeys, writer_id: str, times: LockTimes) -> None:
        self._store, self._keys = store, keys
        self._writer_id, self._times = writer_id, times
        self._lock = threading.Lock()
        self._epoch = 0
        self._announced = Announced()
        self._own: set[str] = set()
        self._sure: dict[str, int] = {}
        self.begun: Future[None] | None = None

    def begin(self, registration: Future[None] | None) -> None:
        """Read the manifest, then the announcements. The stream is registered first, so that a
        purge finds what a crash leaves."""
        if registration is not None:
            registration.result()
        self._look(commit.open_log(self._store, self._keys, self._writer_id).manifest)

    def _look(self, manifest: Manifest) -> None:
        found = removal.announced(self._store, self._keys)
        with self._lock:
            self._epoch += 1
            self._announced, self._own = found, {manifest.commit.id}

    def ensure(self, upload: VerifiedUpload) -> None:
        """Have the bytes in the store, in this epoch. Raises `BadFile`, `BusyError`, and
        `CorruptFile` where other bytes lie there."""
        if self.begun is not None:
            self.begun.result()
        blob = upload.blob
        with self._lock:
            epoch, announced = self._epoch, self._announced
            if self._sure.get(blob.path) == epoch:
                return
        if blob.path in announced:
            self._wait_for_the_end(blob.path)
        if not self._is_there(upload):
            try:
                self._store.create_from(self._keys.under(blob.path), upload)
            except AlreadyExists:
                self._is_there(upload)  # the same bytes, by another writer
        with self._lock:
            self._sure[blob.path] = epoch

    def require(self, uploads: Iterable[VerifiedUpload]) -> Callable[[Manifest, Commit], None]:
        """What a commit that names these bytes calls before each put, with the manifest that the
        put replaces, and the commit that it makes."""

        def check(manifest: Manifest, made: Commit) -> None:
            with self._lock:
                is_own = manifest.commit.id in self._own
            if not is_own:
                self._look(manifest)
            for upload in uploads:
                self.ensure(upload)
            with self._lock:
                self._own.add(made.id)

        return check

    def _is_there(self, upload: VerifiedUpload) -> bool:
        key = self._keys.under(upload.blob.path)
        try:
            size = self._store.size(key)
        except NotFound:
            return False
        if size != upload.size:
            raise CorruptFile(
                f"{self._store.url}/{key}: expected the {upload.size} bytes of this hash, found "
                f"{size}: the object is damaged. Remove it, and run again"
            )
        return True

    def _wait_for_the_end(self, path: str) -> None:
        """Until no purge is removing these bytes any more: then a look is the truth."""
        patience = Patience(self._times.max_wait)
        while path in removal.announced(self._store, self._keys):
            if not patience.pause():
                key = self._keys.under(path)
                raise BusyError(
                    f"{self._store.url}/{key}: a purge announced that it removes these bytes, and "
                    f"has not ended for {patience.waited():.0f} s; nothing was committed. Try "
                    "again later. If that purge died, `singerlake vacuum --purge --apply` clears "
                    "its announcement a day after it"
                )
