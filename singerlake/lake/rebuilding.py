"""Rebuild: makes the manifests, catalogues and lake document again, from the files alone.

What is known of the order is kept, sequence numbers and all (`known_order`); files that it does not
name get the next numbers, files that are gone leave a gap behind. Where nothing is known, files are
numbered by their last record. Where not all of it is, the log gets a new id, so that bookmarks
behind what is known are refused rather than misread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import msgspec

from singerlake.errors import (
    AlreadyExists,
    Changed,
    CommitConflict,
    CorruptDocument,
    CorruptFile,
    MissingFile,
    NotFound,
    OutcomeUnknown,
)
from singerlake.format import catalogue
from singerlake.format import manifest as manifests
from singerlake.format.catalogue import Entry
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.format.manifest import File, Gap, Manifest, Segment, Version
from singerlake.format.revision import KEPT
from singerlake.format.schema import Schema
from singerlake.lake import (
    acceptance,
    adoption,
    commit,
    continuation,
    cutting,
    evidence,
    examined,
    inventory,
    known_order,
    log,
    manifest_copy,
    newer_formats,
    orphan_segments,
    pins,
    reapplied,
    repair,
    retired,
    uploads,
)
from singerlake.lake.check_markers import check_markers
from singerlake.lake.examined import Examined
from singerlake.lake.identity import new_writer_id
from singerlake.lake.inventory import ListedFile, StreamInventory
from singerlake.lake.known_order import Known
from singerlake.lake.parallel import Progress, Steps, in_parallel, no_progress
from singerlake.lake.rebuild_report import RebuildReport
from singerlake.lake.runs import mending
from singerlake.lake.shortened import Place
from singerlake.store import Store

ATTEMPTS = 10


def rebuild(
    store: Store,
    tap_id: str | None = None,
    stream: str | None = None,
    progress: Progress = no_progress,
) -> RebuildReport:
    """Make the metadata of the lake, of one tap, or of one stream again."""
    found = inventory.take_known(store, tap_id, stream)
    newer_formats.refuse(store, found)
    missing = list(check_markers(store, found, tap_id, stream))
    steps = Steps(progress, found.file_count())
    report = RebuildReport(taps=len(found.tap_ids()))
    entries: dict[str, dict[str, Entry]] = {tap: {} for tap in found.tap_ids()}
    places = evidence.with_markers(store, found.tap_ids())
    for one in found.streams.values():
        mine = places.get((one.keys.tap_id, one.keys.stream), [])
        done, schema = rebuild_stream(store, one, steps, mine)
        report.add(done)
        if done.renumbered or done.continued or done.gone:
            report.unpinned += [
                f"{pin} in {one.keys.folder}" for pin in pins.broken(store, one.keys)
            ]
        if schema is not None:
            name = one.keys.stream
            entries[one.keys.tap_id][name] = catalogue.entry(name, schema)
    for tap in sorted(found.runs):
        report.add(_run_log(store, RunKeys(tap)))
    for tap, known in entries.items():
        report.set_aside += repair.repair_catalogue(store, tap, known)
    report.set_aside += repair.repair_lake_document(store, found)
    report.missing = [f"{one.key}: {one.message}" for one in missing]
    acceptance.accept(store, found, tap_id, stream, missing)
    return report


def _run_log(store: Store, keys: RunKeys) -> RebuildReport:
    mended = mending.rebuild(store, keys)
    renumbered = [keys.folder] if mended.renumbered else []
    return RebuildReport(runs=mended.rows, renumbered=renumbered, skipped=list(mended.skipped))


def rebuild_stream(
    store: Store,
    found: StreamInventory,
    steps: Steps | None = None,
    places: Sequence[Place] = (),
) -> tuple[RebuildReport, Schema | None]:
    """Make one stream's manifest again; the schema is its newest, None if it has no file.

    `places` are those of readers of the stream (`shortened.places`), or of whatever else knows how
    long its log was. Where they, or the copy of the manifest, prove that an older manifest lies
    there, the log is begun anew.
    """
    keys = found.keys
    steps = steps or Steps(no_progress, len(found.files))
    reads, skipped = _read_all(store, found, steps)
    digests = examined.digests(keys, reads.values())
    writer_id = new_writer_id()
    for attempt in range(ATTEMPTS):
        known = known_order.find(store, keys, places)
        if attempt or known.may_tell_more:
            found, reads, skipped = _read_rest(store, found, reads, skipped)
            digests = examined.digests(keys, reads.values())
        known = _trusted(store, found, known, reads)
        if known.version is None and not reads:
            return RebuildReport(skipped=list(skipped.values())), None
        report = RebuildReport(streams=1, skipped=list(skipped.values()))
        whole = _merged(store, found, known, reads, digests, writer_id, report)
        if not _are_there(store, keys, whole, known):
            continue  # a purge was quicker
        small = commit.seal_all(store, keys, whole)
        segments = orphan_segments.list_all(store, keys)
        try:
            if known.version is None:
                store.create(keys.manifest, manifests.encode(small))
            else:
                store.replace(keys.manifest, manifests.encode(small), known.version)
        except (AlreadyExists, Changed, OutcomeUnknown):
            if not _is_in_place(store, keys, small):
                # A writer committed meanwhile, or a purge began: the manifest that we now re-read
                # names the files of the one, and of those that the other removes it needs none.
                continue
        manifest_copy.keep(store, keys, small)
        orphan_segments.remove(store, keys, segments, small)
        totals = manifests.totals(whole)
        report.files, report.records = totals.files, totals.records
        return report, _newest_schema(whole, reads)
    raise CommitConflict(
        f"{store.url}/{keys.manifest}: writers changed it {ATTEMPTS} times while it was rebuilt; "
        "stop them, then run `singerlake rebuild` again"
    )


def _are_there(store: Store, keys: StreamKeys, whole: Manifest, known: Known) -> bool:
    """Whether all files that a rebuild found besides the log still lie there.

    A purge removes a merged file that was given up before its document. So whoever did not see
    that document any more, and takes the file for a plain one, sees here that it is gone.
    """
    last = known.manifest.last_sequence if known.manifest else 0
    taken = {file.path for file in whole.files if file.sequence > last}
    if not taken:
        return True
    found = inventory.take(store, keys.tap_id, keys.stream).streams.get(keys)
    return found is not None and found.files.keys() >= taken


def _is_in_place(store: Store, keys: StreamKeys, manifest: Manifest) -> bool:
    """Whether our put was applied, and only its answer was lost."""
    try:
        return log.read_head(store, keys).manifest.commit == manifest.commit
    except (NotFound, CorruptDocument):
        return False


def _read_all(
    store: Store, found: StreamInventory, steps: Steps
) -> tuple[dict[str, Examined], dict[str, str]]:
    """Every readable file by its path, and what is wrong with each of the others.

    Adds to `found` what tells of these files: notes first, because a job deletes a file before
    its note, and merges last, because a merge writes its document before its file.
    """
    found.notes += uploads.notes(store, found.keys)

    def read(file: ListedFile) -> Examined | CorruptFile | None:
        try:
            return examined.examine(store, found.keys, file)
        except MissingFile:
            return None
        except CorruptFile as error:
            return error

    reads, skipped = {}, {}
    outcomes = in_parallel(read, found.files.values())
    for path, outcome in zip(found.files, outcomes, strict=True):
        steps.step()
        if isinstance(outcome, CorruptFile):
            skipped[path] = str(outcome)
        elif outcome is not None:
            reads[path] = outcome
    found.merges |= retired.list_merges(store, found.keys)
    return reads, skipped


def _read_rest(
    store: Store, found: StreamInventory, reads: dict[str, Examined], skipped: dict[str, str]
) -> tuple[StreamInventory, dict[str, Examined], dict[str, str]]:
    """The stream as it is listed now: files that are new, or others than they were, are read."""
    keys = found.keys
    listed = inventory.take(store, keys.tap_id, keys.stream).streams.get(keys)
    now = listed or StreamInventory(keys)
    same = {path for path, file in now.files.items() if found.files.get(path) == file}
    new = {path: file for path, file in now.files.items() if path not in same}
    # The notes of before too: they tell of files that were read then.
    rest = dataclasses.replace(now, files=new, notes=found.notes + now.notes)
    more, wrong = _read_all(store, rest, Steps(no_progress, len(new)))
    known = {path: read for path, read in reads.items() if path in same}
    still_wrong = {path: error for path, error in skipped.items() if path in same}
    return dataclasses.replace(rest, files=now.files), known | more, still_wrong | wrong


def _trusted(
    store: Store, found: StreamInventory, known: Known, reads: dict[str, Examined]
) -> Known:
    """What is known, with merges whose sources are gone: the manifest is an older one, a vacuum
    committed them behind it, and a purge deleted the sources.

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
    merged = tuple(row for row in rows if row not in before)
    return Known(manifest, tuple(rows), known.version, up_to, merged)


def _merged(
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
    changes = [("vacuum", file) for file in known.merged]
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
    if known.up_to is None:
        return whole
    # Another file than was committed under a number proves nothing of what comes behind.
    other = (file.lowest_sequence - 1 for kind, file in changes if kind == "unknown")
    up_to = min([known.up_to, *other])
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
    named = {file.path for file in kept}
    readable = {path: read.entry.checksum for path, read in reads.items()}
    if known.manifest is None:
        left_out, alone = retired.by_listing(store, keys, readable, found.merges)
        named |= left_out
    else:
        gone = retired.find(store, found, kept, readable)
        if gone.lost:
            return []  # they may be what a merge replaced; a check tells of them
        # Where not all of the log is known, nothing tells what their jobs have committed: then they
        # are taken.
        waiting = {note.file for note in found.notes} if known.is_whole else set()
        named |= gone.replaced | gone.uncommitted | gone.stood_for | gone.not_whole | waiting
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


def _newest_schema(manifest: Manifest, reads: dict[str, Examined]) -> Schema | None:
    schemas = {read.entry.schema_hash: read.schema for read in reads.values()}
    for file in reversed(manifest.files):
        if file.schema_hash in schemas:
            return schemas[file.schema_hash]
    return None
