"""The manifest: a stream's commit log, as one small document.

The newest entries stand in the manifest itself. Past a threshold the oldest hundred move to an
immutable segment, and past two hundred segments the oldest of those to a segment of segments:
the manifest holds a few hundred rows whether the stream has ten files or a million.

Everything here is a frozen value; an update returns a new manifest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec

from singerlake.errors import SchemaCollision
from singerlake.format import document, times
from singerlake.format.continued import Continued
from singerlake.format.document import LARGEST_SUM, Count, MaybeCount, Moment, Sum
from singerlake.format.revision import KEPT, Revision, number_at

KIND = "singerlake.manifest"
SEGMENT_KIND = "singerlake.segment"

FAN_OUT = 100
"""A segment holds this many rows; twice as many may wait in the manifest."""

MOST_LEVELS = 9
"""Of segments in segments: a hundred to the ninth power of files."""


class MergeRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a merged file's document is, which tells the files that it stands for.

    `committed` is when it took their place, and `check` is `File.check` of the last of those files;
    older rows have neither.
    """

    path: str
    checksum: str
    committed: Moment | None = None
    check: str = ""


class File(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A committed Singer file. `path` is relative to the stream's folder.

    A file that a vacuum merged from others bears all their sequence numbers, from
    `first_sequence` to `sequence`, and `merge` names the document that tells them apart.
    """

    path: str
    sequence: Count
    records: MaybeCount
    bytes: Count
    raw_bytes: MaybeCount
    first: Moment
    last: Moment
    checksum: str
    writer_id: str = ""
    run_id: str = ""
    committed: Moment
    first_sequence: Count = 0
    merge: MergeRef | None = None

    @property
    def schema_hash(self) -> str:
        return self.path.partition("/")[0]

    @property
    def lowest_sequence(self) -> int:
        """The first sequence number that the file bears: its only one, unless it was merged."""
        return self.first_sequence or self.sequence

    @property
    def check(self) -> str:
        """Eight digits that tell the commit of `sequence` from others that had the number; ""
        where nothing tells them.

        Not of the file alone: after an older manifest was put back, a rebuild may give a file the
        same number again, behind others than before. Then it has another time.
        """
        if self.merge is not None:
            return self.merge.check
        text = f"{self.checksum} {times.rfc3339(self.committed)}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @property
    def parts(self) -> int:
        """How many sequence numbers the file bears."""
        return self.sequence - self.lowest_sequence + 1

    def numbered(self, first: int) -> File:
        """The row with as many numbers as it bears, from `first` on."""
        last = first + self.parts - 1
        lowest = first if last > first else 0
        return msgspec.structs.replace(self, first_sequence=lowest, sequence=last)


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable object that holds older rows, and what a reader needs to skip it."""

    path: str
    level: Annotated[int, msgspec.Meta(ge=1, le=MOST_LEVELS)]
    first_sequence: Count
    last_sequence: Count
    files: Sum
    records: Sum
    bytes: Sum
    first: Moment
    last: Moment
    checksum: str


class Version(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A schema version of the stream; `digest` tells two schemas with one hash apart.

    `path` is a file of the log that has it, so that a reader gets the schema without a search;
    older manifests do not tell.
    """

    version: Count
    first_seen: Moment
    digest: str
    path: str = ""


class Gap(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Sequence numbers that no file bears any more, and why.

    `check` is `File.check` of the file that bore the last of them; older gaps have none.
    """

    first_sequence: Count
    last_sequence: Count
    reason: str
    recorded: Moment
    check: str = ""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote this manifest, when; the id makes every manifest's bytes unique."""

    id: str
    time: Moment
    writer_id: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One stream's commit log. `log_id` changes when sequence numbers were given anew: all of them,
    or those behind what the log `continues`, newest first.

    `revision` is the number of the last change of older rows, None where an older Singerlake wrote
    the manifest; `revisions` has the newest of these changes.
    """

    format: str = KIND
    format_version: int = document.VERSION
    tap_id: str
    stream: str
    log_id: str
    continues: tuple[Continued, ...] = ()
    commit: Commit
    last_sequence: Count = 0
    versions: dict[str, Version] = {}
    gaps: tuple[Gap, ...] = ()
    revision: Count | None = None
    revisions: tuple[Revision, ...] = ()
    segments: tuple[Segment, ...] = ()
    files: tuple[File, ...] = ()

    @property
    def revision_number(self) -> int:
        """`revision`; where an older Singerlake dropped it, a number that only this manifest has:
        nobody knows what was changed before."""
        return number_at(self.commit.time) if self.revision is None else self.revision


class SegmentContent(msgspec.Struct, frozen=True, kw_only=True):
    """A segment object: files at level 1, segments of the level below above that."""

    format: str = SEGMENT_KIND
    format_version: int = document.VERSION
    files: tuple[File, ...] = ()
    segments: tuple[Segment, ...] = ()


def _require_manifest(manifest: Manifest) -> None:
    """Raises `ValueError` for what a writer would never write, and a reader could trip over."""
    _require_rows(manifest.segments, manifest.files)
    times.require_utc(
        (
            manifest.commit.time,
            *(version.first_seen for version in manifest.versions.values()),
            *(gap.recorded for gap in manifest.gaps),
            *(one.time for one in manifest.revisions),
        )
    )
    summed = totals(manifest)
    if max(summed.files, summed.records, summed.bytes) > LARGEST_SUM:
        raise ValueError("rows whose sums do not fit into 64 bits")


def _require_segment(content: SegmentContent) -> None:
    if not content.files and not content.segments:
        raise ValueError("no rows")
    _require_rows(content.segments, content.files)


def _require_rows(segments: Sequence[Segment], files: Sequence[File]) -> None:
    rows: list[File | Segment] = [*segments, *files]
    merges = [file.merge for file in files if file.merge is not None]
    # List by list: a million rows pass here in a fraction of a second.
    times.require_utc([row.first for row in rows])
    times.require_utc([row.last for row in rows])
    times.require_utc([file.committed for file in files])
    times.require_utc([one.committed for one in merges if one.committed is not None])
    for file in files:
        if file.first_sequence > file.sequence:
            raise ValueError(
                f"a row whose first_sequence, {file.first_sequence}, is above its sequence, "
                f"{file.sequence}"
            )


decode = document.reader(Manifest, KIND, sealed=True, require=_require_manifest)
decode_segment = document.reader(SegmentContent, SEGMENT_KIND, require=_require_segment)


def encode(manifest: Manifest) -> bytes:
    return document.seal(document.encode(manifest))


def append(
    manifest: Manifest, files: Sequence[File], commit: Commit, digests: dict[str, str]
) -> Manifest:
    """The manifest with these files added, each with the next sequence number; a merged file
    that is added anew gets as many as it bears.

    `digests` gives the schema digest for every hash among the files. Raises `SchemaCollision`.
    """
    versions = dict(manifest.versions)
    for schema_hash, digest in digests.items():
        require_same_schema(manifest, schema_hash, digest)
        if schema_hash not in versions:
            number = max((known.version for known in versions.values()), default=0) + 1
            versions[schema_hash] = Version(version=number, first_seen=commit.time, digest=digest)
    added: list[File] = []
    last = manifest.last_sequence
    for file in files:
        added.append(msgspec.structs.replace(file.numbered(last + 1), committed=commit.time))
        last = added[-1].sequence
    return msgspec.structs.replace(
        manifest,
        revision=manifest.revision_number,
        commit=commit,
        versions=with_paths(versions, added),
        last_sequence=last,
        files=(*manifest.files, *added),
    )


def revised(manifest: Manifest, kind: str, first: int, last: int) -> Manifest:
    """The manifest with a revision more, of its newest commit: rows from `first` to `last`
    changed."""
    commit, before = manifest.commit, manifest.revision_number
    one = Revision(
        number=max(number_at(commit.time), before + 1),
        after=before,
        kind=kind,
        first_sequence=first,
        last_sequence=last,
        commit=commit.id,
        time=commit.time,
    )
    kept = (*manifest.revisions, one)[-KEPT:]
    return msgspec.structs.replace(manifest, revision=one.number, revisions=kept)


def with_paths(versions: dict[str, Version], files: Iterable[File]) -> dict[str, Version]:
    """The versions, where one has no path with that of its first file among these."""
    told = dict(versions)
    for file in files:
        version = told.get(file.schema_hash)
        if version is not None and not version.path:
            told[file.schema_hash] = msgspec.structs.replace(version, path=file.path)
    return told


class Totals(msgspec.Struct, frozen=True):
    """What a whole log adds up to."""

    files: int
    records: int
    bytes: int


def totals(manifest: Manifest) -> Totals:
    """Counted from the manifest alone: a segment's row has its sums."""
    rows: list[File | Segment] = [*manifest.segments, *manifest.files]
    return Totals(
        len(manifest.files) + sum(segment.files for segment in manifest.segments),
        sum(row.records for row in rows),
        sum(row.bytes for row in rows),
    )


def require_same_schema(manifest: Manifest, schema_hash: str, digest: str) -> None:
    """Raises `SchemaCollision` where the hash stands for another schema already."""
    known = manifest.versions.get(schema_hash)
    if known is not None and known.digest != digest:
        raise SchemaCollision(
            f"stream {manifest.stream!r} of {manifest.tap_id!r}: the schema hash {schema_hash} "
            f"belongs to another schema ({known.digest}, seen {known.first_seen:%Y-%m-%d}), and "
            f"the one sent now is {digest}; nothing was written. Any change to the schema, such "
            "as a description, gives it another hash"
        )
