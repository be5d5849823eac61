"""Rebuild: makes the manifests, catalogues and lake document again, from the files alone.

What is known of the order is kept, sequence numbers and all (`known_order`); files that it does not
name get the next numbers, files that are gone leave a gap behind. Where nothing is known, files are
numbered by their last record. Where not all of it is, the log gets a new id, so that bookmarks
behind what is known are refused rather than misread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

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
from singerlake.format.manifest import Manifest
from singerlake.format.schema import Schema
from singerlake.lake import (
    acceptance,
    commit,
    evidence,
    examined,
    inventory,
    known_order,
    log,
    manifest_copy,
    newer_formats,
    orphan_segments,
    pins,
    rebuilt,
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
    by_files: bool = False,
) -> tuple[RebuildReport, Schema | None]:
    """Make one stream's manifest again; the schema is its newest, None if it has no file.

    `places` are those of readers of the stream (`shortened.places`), or of whatever else knows how
    long its log was. Where they, or the copy of the manifest, prove that an older manifest lies
    there, the log is begun anew; where it is `by_files`, also without such a proof.
    """
    keys = found.keys
    steps = steps or Steps(no_progress, len(found.files))
    reads, skipped = _read_all(store, found, steps)
    digests = examined.digests(keys, reads.values())
    writer_id = new_writer_id()
    for attempt in range(ATTEMPTS):
        known = known_order.find(store, keys, places, by_files)
        if attempt or known.may_tell_more:
            found, reads, skipped = _read_rest(store, found, reads, skipped)
            digests = examined.digests(keys, reads.values())
        known = rebuilt.trusted(store, found, known, reads)
        if known.version is None and not reads:
            return RebuildReport(skipped=list(skipped.values())), None
        report = RebuildReport(streams=1, skipped=list(skipped.values()))
        whole = rebuilt.merged(store, found, known, reads, digests, writer_id, report)
        if not _are_there(store, keys, whole, known, reads):
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
        return report, rebuilt.newest_schema(whole, reads)
    raise CommitConflict(
        f"{store.url}/{keys.manifest}: writers changed it {ATTEMPTS} times while it was rebuilt; "
        "stop them, then run `singerlake rebuild` again"
    )


def _are_there(
    store: Store, keys: StreamKeys, whole: Manifest, known: Known, reads: Mapping[str, Examined]
) -> bool:
    """Whether all files still lie there that a rebuild took from elsewhere than the log: those that
    it found beside it, and what the copy of the manifest or a merge document names.

    A purge removes a merged file that was given up before its document. So whoever did not see
    that document any more, and takes the file for a plain one, sees here that it is gone.
    """
    last = known.manifest.last_sequence if known.manifest else 0
    moved = {file.path for file in known.moved}
    is_as_read = known.is_whole and not moved
    taken = {
        file.path
        for file in whole.files
        if file.sequence > last or file.path in moved or (file.path in reads and not is_as_read)
    }
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
