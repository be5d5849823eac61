"""A snapshot: a stream as it was at one moment, held to the end of the read."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from singerlake.errors import NotFound
from singerlake.format import compression, document, message
from singerlake.format import manifest as manifests
from singerlake.format.catalogue import Entry
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Commit, File, Gap, Manifest, Totals, Version
from singerlake.lake import (
    clock,
    continuation,
    inventory,
    log,
    merge,
    provenance,
    registry,
    retired,
    source,
    unknown,
)
from singerlake.lake.log import EVERYTHING, Selection
from singerlake.store import Store

UNKNOWN = -1
"""A count that only the manifest could tell, in a snapshot made by listing."""


@dataclass(frozen=True)
class Snapshot:
    """One GET, and the segments that a selection needs: no LIST, no torn reads."""

    store: Store
    keys: StreamKeys
    manifest: Manifest

    @property
    def by_listing(self) -> bool:
        """True where the manifest is missing: the order is a guess, and bookmarks are void."""
        return self.manifest.log_id == "" and bool(self.manifest.files)

    @property
    def log_id(self) -> str:
        """ "" where there is no log: before the first commit, and by listing."""
        return self.manifest.log_id

    def knows(self, log_id: str, sequence: int) -> bool:
        """Whether a number of a log means the same here: of this log, or of one that it continues
        so far."""
        return continuation.is_known(self.manifest, log_id, sequence)

    @property
    def last_sequence(self) -> int:
        return self.manifest.last_sequence

    @property
    def versions(self) -> Mapping[str, Version]:
        """The schema versions by hash; none by listing."""
        return self.manifest.versions

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The numbers that no file bears any more."""
        return self.manifest.gaps

    @property
    def totals(self) -> Totals:
        """What the whole log adds up to; costs no request."""
        return manifests.totals(self.manifest)

    @property
    def schema_in_use(self) -> str:
        """The schema hash of the newest file, "" without files. It need not be the one that came
        last: an old one comes back where a tap is set back."""
        newest = self.newest_file()
        return "" if newest is None else newest.schema_hash

    def pack(self) -> bytes:
        """The snapshot for another process: `unpack` makes it again, without a request."""
        return zlib.compress(document.encode(self.manifest), 1)

    def newest_file(self, until: int | None = None) -> File | None:
        """The last file, or the last of those up to a number.

        Costs a request only where it is in a segment.
        """
        wanted = Selection(until=until)
        files = list(filter(wanted.may_hold, self.manifest.files))
        segments = list(filter(wanted.may_hold, self.manifest.segments))
        if not files and segments:
            files = list(self.files(Selection(segments[-1].first_sequence - 1, until)))
        return files[-1] if files else None

    def files(self, selection: Selection = EVERYTHING) -> Iterator[File]:
        """The selected files, in commit order."""
        return log.files(self.store, self.keys, self.manifest, selection)

    def commits(self, selection: Selection = EVERYTHING) -> Iterator[File]:
        """The selected files as they were committed: a merged one's parts, each with its writer,
        run and time, as far as its document has them."""
        rows = provenance.committed_rows(self.store, self.keys, self.files(selection))
        return filter(selection.may_hold, rows)

    def blocks(self, file: File, selection: Selection = EVERYTHING) -> Iterator[bytes]:
        """A file's content, decompressed, in blocks: the SCHEMA line comes first.

        Of a merged file, only what was committed under the selected sequence numbers. Raises
        `CorruptFile` at the end where the file's bytes are not those that were committed.
        """
        whole = source.committed_blocks(self.store, self.keys, file)
        if selection.holds_all_of(file):
            return whole
        parts = merge.read_merge(self.store, self.keys, file)
        if parts is None or not parts.parts:
            return whole
        return compression.line_ranges(whole, parts.line_ranges(selection.holds))

    def lines(self, file: File, selection: Selection = EVERYTHING) -> Iterator[bytes]:
        """A file's messages as they were stored, without their line feeds; see `blocks`."""
        return compression.lines(self.blocks(file, selection))

    def records(self, selection: Selection = EVERYTHING) -> Iterator[dict[str, Any]]:
        """Every record of the selected files, in commit order.

        A selection by time chooses files: what a chosen file holds comes whole.
        """
        for file in self.files(selection):
            for line in self.lines(file, selection):
                if message.decode(line).type == "RECORD":
                    yield message.record_of(line)


def unpack(store: Store, keys: StreamKeys, packed: bytes) -> Snapshot:
    """The snapshot that `Snapshot.pack` was given."""
    return Snapshot(store, keys, manifests.decode(zlib.decompress(packed), store.url))


def take(store: Store, keys: StreamKeys) -> Snapshot:
    """The stream as it is now; empty where its schema came and no record yet.

    Raises `UnknownStream`, `UnknownTap` or `NotALake`, and `MissingCommits` where it has vanished.
    """
    try:
        return Snapshot(store, keys, log.read_head(store, keys).manifest)
    except NotFound:
        return _by_listing(store, keys)


def _by_listing(store: Store, keys: StreamKeys) -> Snapshot:
    files = list_files(store, keys)
    if not files:
        known = registry.read_catalogue(store, keys.tap_id) or {}
        if keys.stream not in known:
            raise unknown.missing_stream(store, keys.tap_id, keys.stream, known)
        if (found := _since_made(store, keys, known[keys.stream])) is not None:
            return found
    manifest = Manifest(
        tap_id=keys.tap_id,
        stream=keys.stream,
        log_id="",
        commit=Commit(id="", time=clock.now(), writer_id=""),
        last_sequence=len(files),
        files=tuple(files),
    )
    return Snapshot(store, keys, manifest)


def _since_made(store: Store, keys: StreamKeys, entry: Entry) -> Snapshot | None:
    """A stream that came while it was looked for. Raises `MissingCommits` for one that is gone."""
    from singerlake.format import marker  # who finds all of it needs none of it
    from singerlake.lake import markers

    if (at := marker.of(entry)) is None:
        return None
    try:
        return Snapshot(store, keys, log.read_head(store, keys).manifest)
    except NotFound:
        raise markers.vanished_stream(store, keys, at) from None


def list_files(store: Store, keys: StreamKeys) -> list[File]:
    """The stream's files as a listing tells of them, in the order of their last record."""
    found = inventory.take(store, keys.tap_id, keys.stream).streams.get(keys)
    if found is None:
        return []
    readable = dict.fromkeys(found.files, "")
    left_out, standing = retired.by_listing(store, keys, readable, found.merges)
    # One of which only some lines are wanted comes whole: only a rebuild can cut it.
    files = [file for path, file in found.files.items() if path not in left_out or path in standing]
    files.sort(key=lambda file: (file.name.last, file.name.first, file.path))
    return [
        File(
            path=file.path,
            sequence=number,
            records=UNKNOWN,
            bytes=file.size,
            raw_bytes=UNKNOWN,
            first=file.name.first,
            last=_latest(file.name.last),
            checksum="",
            committed=file.name.last,
        )
        for number, file in enumerate(files, start=1)
    ]


def _latest(named: datetime) -> datetime:
    """The latest that a record of a file can be: some names tell its time to the second only."""
    return named if named.microsecond else named + timedelta(microseconds=999_999)
