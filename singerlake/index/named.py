"""The files of any kind that the records of a commit name."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from singerlake.errors import DamageError, NotFound, StaleSnapshot
from singerlake.format import times
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.index.commit import NamedFile
from singerlake.index.entry import micros
from singerlake.lake import Selection, Snapshot, Stream
from singerlake.lake.blobs.reference import Marks, Reference, files_of
from singerlake.lake.feed.event import Committed
from singerlake.store import Store

logger = logging.getLogger(__name__)

Found = dict[int, list[NamedFile]]


class LakeFiles:
    """Looks into Singer files whose schema marks a property, and into no other.

    A schema version that is new costs a look at the manifest and the catalogue. One event is in
    memory at once: ask for its files one after the other.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._marks = store, Marks()
        self._plain: set[tuple[StreamKeys, str]] = set()
        self._event: Committed | None = None
        self._found: Found = {}

    def __call__(self, event: Committed, file: File) -> Iterable[NamedFile]:
        if (StreamKeys(event.tap, event.stream), file.schema_hash) in self._plain:
            return ()
        if self._event is not event:
            self._found = self._files_in(event)
            self._event = event
        return self._found.get(file.sequence, ())

    def _files_in(self, event: Committed) -> Found:
        snapshot = Stream(self._store, event.tap, event.stream).snapshot()
        if snapshot.log_id != event.bookmark.log_id:
            raise StaleSnapshot(
                f"stream {event.stream!r} of {event.tap!r} was numbered anew since its commit "
                f"{event.last_sequence} was read; ask again"
            )
        hashes = {file.schema_hash for file in event.files}
        marked = self._marks.of(snapshot, hashes)
        self._plain |= {(snapshot.keys, each) for each in hashes - marked.keys()}
        if not marked:
            return {}
        try:
            return self._named(snapshot, event.first_sequence, event.last_sequence)
        except DamageError:
            return self._one_by_one(snapshot, event)

    def _one_by_one(self, snapshot: Snapshot, event: Committed) -> Found:
        """What a damaged Singer file names, nobody knows: it hides no other's."""
        found: Found = {}
        for file in event.files:
            try:
                found |= self._named(snapshot, file.lowest_sequence, file.sequence)
            except DamageError as error:
                logger.warning("%s: the files that it names are not indexed: %s", file.path, error)
        return found

    def _named(self, snapshot: Snapshot, first: int, last: int) -> Found:
        found: Found = {}
        for reference in files_of(snapshot, Selection(since=first - 1, until=last), self._marks):
            named = self._named_file(snapshot.keys, reference)
            found.setdefault(reference.sequence, []).append(named)
        return found

    def _named_file(self, keys: StreamKeys, reference: Reference) -> NamedFile:
        record, checksum = reference.record, f"sha256:{reference.sha256}"
        if record.get("sha256") != reference.sha256:
            return NamedFile(checksum=checksum, size=self._size(keys.under(reference.path)))
        # A record as `singerlake put` writes it, which says all about its file.
        size, work_id = record.get("size"), record.get("work_id")
        start = _time(record.get("start"))
        end = _time(record.get("end"))
        return NamedFile(
            checksum=checksum,
            size=size if isinstance(size, int) else self._size(keys.under(reference.path)),
            start=start,
            end=start if end is None or start is None or end < start else end,
            run_id=work_id if isinstance(work_id, str) and work_id else None,
        )

    def _size(self, key: str) -> int:
        """0 where the bytes were forgotten since."""
        try:
            return self._store.size(key)
        except NotFound:
            return 0


def _time(value: object) -> int | None:
    try:
        return micros(times.parse_time(value)) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
