"""Sealing: which rows move from a manifest to a segment of their own, and when."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from singerlake.format import manifest as manifests
from singerlake.format.manifest import File, Manifest, Segment, SegmentContent


class Seal(msgspec.Struct, frozen=True):
    """Rows that are due to move from the manifest to a segment of their own."""

    level: int
    rows: tuple[File, ...] | tuple[Segment, ...]

    @property
    def content(self) -> SegmentContent:
        files = tuple(row for row in self.rows if isinstance(row, File))
        segments = tuple(row for row in self.rows if isinstance(row, Segment))
        return SegmentContent(files=files, segments=segments)


def due_seal(manifest: Manifest) -> Seal | None:
    """The next rows to move out, or None while the manifest is small enough."""
    if len(manifest.files) > 2 * manifests.FAN_OUT:
        return Seal(1, manifest.files[: manifests.FAN_OUT])
    # Only neighbours move together: a segment's rows must be a stretch of the log.
    for level, neighbours in groupby(manifest.segments, key=lambda segment: segment.level):
        peers = tuple(neighbours)
        if len(peers) > 2 * manifests.FAN_OUT and level < manifests.MOST_LEVELS:
            return Seal(level + 1, peers[: manifests.FAN_OUT])
    return None


def segment_of(level: int, rows: Sequence[File | Segment], path: str, checksum: str) -> Segment:
    """The row that stands for these rows once they are in a segment of their own."""
    first, last = rows[0], rows[-1]
    return Segment(
        path=path,
        level=level,
        first_sequence=first.lowest_sequence if isinstance(first, File) else first.first_sequence,
        last_sequence=last.sequence if isinstance(last, File) else last.last_sequence,
        files=sum(1 if isinstance(row, File) else row.files for row in rows),
        records=sum(max(row.records, 0) for row in rows),
        bytes=sum(row.bytes for row in rows),
        first=min(row.first for row in rows),
        last=max(row.last for row in rows),
        checksum=checksum,
    )


def sealed(manifest: Manifest, seal: Seal, segment: Segment) -> Manifest:
    """The manifest with the seal's rows replaced by the segment that now holds them."""
    if seal.level == 1:
        files, segments = manifest.files[len(seal.rows) :], [*manifest.segments, segment]
    else:
        moved = {row.path for row in seal.rows}
        files = manifest.files
        segments = [row for row in manifest.segments if row.path not in moved] + [segment]
    ordered = tuple(sorted(segments, key=lambda row: row.first_sequence))
    return msgspec.structs.replace(manifest, files=files, segments=ordered)
