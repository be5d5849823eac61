"""The manifest that a rebuild makes: what is known of the order first, then the other files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from singerlake.errors import NotFound
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Gap, Manifest, Segment, Version
from singerlake.format.revision import KEPT
from singerlake.format.schema import Schema
from singerlake.lake import (
    adoption,
    commit,
    continuation,
    cutting,
    noted,
    reapplied,
    retired,
)
from singerlake.lake.examined import Examined
from singerlake.lake.inventory import StreamInventory
from singerlake.lake.known_order import Known
from singerlake.lake.rebuild_report import RebuildReport
from singerlake.store import Store


def trusted(
    store: Store, found: StreamInventory, known: Known, reads: dict[str, Examined]
) -> Known:
    """What is known, with merges whose sources are gone (the manifest is an older one, a vacuum
    committed them behind it, and a purge deleted the sources), and sources whose merge is gone.

    Where the log is not known whole, and the document of a merge cannot be read, nobody knows which
    files it replaced: then all are taken, in an order of their own.
    """
    if known.manifest is None:
        return known
    there = {path: read.entry for path, read in reads.items()}
    rows = reapplied.with_merges(store, found.keys, known.files, there, found.merges)
    if not known.is_whole:
        readable = {path: entry.checksum for path, entry in there.items()}
        if retired.find(store, found, rows, readable).lost:
            return Known(version=known.version)
    if tuple(rows) == known.files:
        return known
    ended = known.manifest.last_sequence
    last = max(ended, rows[-1].sequence)
    # Its segments have the rows of before.
    manifest = msgspec.structs.replace(known.manifest, last_sequence=last, segments=())
    # A merge that goes on behind the end proves that the log was longer.
    is_longer = known.up_to == ended or (known.is_whole and last > ended)
    up_to = last if is_longer else known.up_to
    before = set(known.files)
    moved = tuple(row for row in rows if row not in before)
    by_files = known.by_files and last == ended
    return Known(manifest, tuple(rows), known.version, up_to, moved, by_files)


def merged(
    store: Store,
    found: StreamInventory,
    known: Known,
    reads: dict[str, Examined],
    digests: dict[str, str],
    writer_id: str,
    report: RebuildReport,
) -> Manifest:
    """The known order first, then what the manifest did not name; all in one manifest."""
    keys, fresh = found.keys, commit.new_commit(writer_id)
    base = known.manifest or commit.new_manifest(keys, fresh)
    kept, gaps = [], list(base.gaps)
    changes = [("vacuum", file) for file in known.moved]
    rightful = _rightful(known.files, reads)
    for file in known.files:
        read = reads.get(file.path)
        if read is not None and rightful[file.path] is file:
            kept.append(_refreshed(file, read.entry, report))
            if kept[-1].checksum != file.checksum:
                changes.append(("unknown", file))
        elif read is None and _exists(store, keys, file):
            kept.append(file)
        elif read is None or rightful[file.path].sequence != file.sequence:
            report.gone.append(keys.under(file.path))
            gaps.append(_gap(file, fresh))
            changes.append(("lost", file))
    orphans = _orphans(store, found, known, kept, reads, base.last_sequence + 1, writer_id)
    lost = [file for kind, file in changes if kind == "lost"]
    again = adoption.come_back(store, keys, lost, orphans)
    if known.manifest is None:
        report.renumbered.append(keys.folder)
    else:
        report.adopted += [keys.under(file.path) for file in orphans]
    segments, files = _beside_segments(base, known.files, kept)
    ordered = msgspec.structs.replace(
        base,
        versions=_versions(base, kept, reads.values(), digests),
        gaps=tuple(sorted(gaps, key=lambda gap: gap.first_sequence)),
        segments=segments,
        files=files,
    )
    whole = manifests.append(ordered, orphans, fresh, digests)
    # Of more than a manifest keeps, readers only have to notice that some are missing.
    for kind, file in changes[-(KEPT + 1) :]:
        whole = manifests.revised(whole, kind, file.lowest_sequence, file.sequence)
    if known.up_to is None and not again:
        return whole
    # Another file than was committed under a number proves nothing of what comes behind.
    other = [file for kind, file in changes if kind == "unknown" and known.up_to is not None]
    ends = [file.lowest_sequence - 1 for file in (*other, *again)]
    up_to = min(ends if known.up_to is None else [known.up_to, *ends])
    if up_to:
        report.continued.append(f"{keys.folder} up to {up_to}")
    else:
        report.renumbered.append(keys.folder)
    return continuation.begin_anew(whole, fresh, up_to)


def _rightful(files: Iterable[File], reads: dict[str, Examined]) -> dict[str, File]:
    """Of each path that was read, the row that stands for it.

    A log of files with older names has a path twice where a file was lost, and records with the
    same times were landed again: they took the name that was free. The file is that of the first
    row with its checksum, or of the last row, where none has it.
    """
    rows: dict[str, File] = {}
    for file in files:
        read, held = reads.get(file.path), rows.get(file.path)
        if read is not None and (held is None or held.checksum != read.entry.checksum):
            rows[file.path] = file
    return rows


def _orphans(
    store: Store,
    found: StreamInventory,
    known: Known,
    kept: list[File],
    reads: dict[str, Examined],
    first: int,
    writer_id: str,
) -> list[File]:
    """The files that no row stands for, in the order in which they probably came, with the numbers
    from `first` on."""
    keys = found.keys
    named = {file.path for file in kept} | noted.left_out(store, found, known)
    readable = {path: read.entry.checksum for path, read in reads.items()}
    if known.manifest is None:
        left_out, alone = retired.by_listing(store, keys, readable, found.merges)
        named |= left_out
    else:
        gone = retired.find(store, found, kept, readable)
        if gone.lost:
            return []  # they may be what a merge replaced; a check tells of them
        named |= gone.replaced | gone.uncommitted | gone.stood_for | gone.not_whole
        alone = gone.alone
    unnamed = [read for path, read in reads.items() if path not in named]
    entries = [read.entry for read in sorted(unnamed, key=lambda read: read.place)]
    rows = {path: read.entry for path, read in reads.items()}
    cut, alone = cutting.cut_all(store, keys, alone, rows, writer_id)
    known_paths = {entry.path for entry in entries}
    entries += [file for file in cut if file.path not in known_paths]
    return adoption.numbering(store, keys, alone)(entries, first)


def _beside_segments(
    base: Manifest, known: Sequence[File], kept: Sequence[File]
) -> tuple[tuple[Segment, ...], tuple[File, ...]]:
    """Segments that still tell the truth stay: readers that hold a snapshot need them."""
    sealed = max((segment.last_sequence for segment in base.segments), default=0)
    if [row for row in known if row.sequence <= sealed] == [
        row for row in kept if row.sequence <= sealed
    ]:
        return base.segments, tuple(row for row in kept if row.sequence > sealed)
    return (), tuple(kept)


def _gap(file: File, fresh: manifests.Commit) -> Gap:
    return Gap(
        first_sequence=file.lowest_sequence,
        last_sequence=file.sequence,
        reason=f"{file.path} was not there",
        recorded=fresh.time,
        check=file.check,
    )


def _exists(store: Store, keys: StreamKeys, file: File) -> bool:
    """A file that was committed after our listing, or that cannot be read, is not gone."""
    try:
        with store.open(keys.under(file.path)) as opened:
            opened.read(1)
    except NotFound:
        return False
    return True


def _refreshed(known: File, found: File, report: RebuildReport) -> File:
    """The entry as the file tells it, in the place that the manifest gave it.

    Another file than was committed is not that writer's, whatever its name.
    """
    is_same = found.checksum == known.checksum
    if not is_same:
        report.changed.append(known.path)
    return msgspec.structs.replace(
        found,
        sequence=known.sequence,
        first_sequence=known.first_sequence,
        merge=known.merge,
        committed=known.committed,
        writer_id=known.writer_id if is_same else found.writer_id,
        run_id=known.run_id if is_same else found.run_id,
    )


def _versions(
    base: Manifest, kept: list[File], reads: Iterable[Examined], digests: dict[str, str]
) -> dict[str, Version]:
    """Known versions keep their numbers; new ones follow in the order of their first record."""
    named = {file.path for file in kept}
    versions = {
        schema_hash: version if version.path in named else msgspec.structs.replace(version, path="")
        for schema_hash, version in base.versions.items()
        if digests.get(schema_hash, version.digest) == version.digest
    }
    last = max((version.version for version in base.versions.values()), default=0)
    for entry in sorted((read.entry for read in reads), key=lambda file: file.first):
        if entry.schema_hash not in versions:
            last += 1
            versions[entry.schema_hash] = Version(
                version=last, first_seen=entry.first, digest=digests[entry.schema_hash]
            )
    return manifests.with_paths(versions, kept)


def newest_schema(manifest: Manifest, reads: dict[str, Examined]) -> Schema | None:
    schemas = {read.entry.schema_hash: read.schema for read in reads.values()}
    for file in reversed(manifest.files):
        if file.schema_hash in schemas:
            return schemas[file.schema_hash]
    return None
