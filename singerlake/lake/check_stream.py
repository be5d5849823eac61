"""Checking one stream: its log against itself, its files against the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple

from singerlake.errors import CorruptDocument, CorruptFile, MissingFile, NotFound, StaleSnapshot
from singerlake.format import keys as key_names
from singerlake.format import seal as seals
from singerlake.format.keys import FileName, StreamKeys, StreamObject
from singerlake.format.manifest import File, Manifest, Segment
from singerlake.lake import log, manifest_copy, merge, retired, shortened, source, uploads
from singerlake.lake.blobs import orphan
from singerlake.lake.finding import CheckReport, Finding, Level
from singerlake.lake.inventory import ListedFile, StreamInventory
from singerlake.lake.parallel import in_parallel
from singerlake.lake.shortened import Place
from singerlake.store import Store


@dataclass(frozen=True)
class Examination:
    """A file that has to be read to its end; it can be pickled, to be read elsewhere.

    `file` is the manifest's row of a committed file, or what a listing tells of an orphan;
    `digest` is that of the schema version it should have. Without a manifest (`logged` is False)
    a listed file is no orphan: it only has to be whole.
    """

    keys: StreamKeys
    file: File | ListedFile
    digest: str | None = None
    logged: bool = True

    @property
    def bytes(self) -> int:
        return self.file.bytes if isinstance(self.file, File) else self.file.size


Examine = Callable[[Store, Iterable[Examination]], Iterator[list[Finding]]]
"""Reads files, somewhere, and gives what is wrong with each of them."""


def in_threads(store: Store, examinations: Iterable[Examination]) -> Iterator[list[Finding]]:
    """Read the files in this process, several at once."""
    return in_parallel(partial(examine, store), examinations)


def examine(store: Store, examination: Examination) -> list[Finding]:
    """Read one file to its end, and say what is wrong with it."""
    if isinstance(examination.file, File):
        return check_file(store, examination.keys, examination.digest, examination.file)
    return _check_listed(store, examination.keys, examination.file, examination.logged)


def check_stream(
    store: Store, found: StreamInventory, report: CheckReport, places: Sequence[Place] = ()
) -> Iterator[Examination]:
    """Hold one stream's log against itself and against what proves how long it was, and give the
    files that have to be read.

    `places` are those of the stream's readers, as far as the lake has them. Findings and counts go
    to `report`; locks are not looked at.
    """
    keys = found.keys
    report.streams += 1
    copy = manifest_copy.read(store, keys)  # before the manifest: a later one is of later commits
    try:
        read = _read_log(store, keys)
    except (NotFound, CorruptDocument) as error:
        report.findings += _without_log(found, error)
        yield from (Examination(keys, file, logged=False) for file in found.files.values())
        return
    manifest, files = read.manifest, read.files
    report.findings += read.wrong_segments
    report.findings += _sequences(keys, manifest, files)
    report.findings += _shortened(store, found, read, copy, places)
    rows = {file.path for file in files}
    if found.files.keys() - rows:
        # Something is not listed: before it is called an orphan, see what is known of it now.
        found.merges |= retired.list_merges(store, keys)
        found.notes = sorted({*found.notes, *uploads.notes(store, keys)}, key=lambda one: one.key)
    gone = retired.find(store, found, files)
    known = read.segments | gone.replaced
    for path in found.segments:
        if path not in known:
            message = "no manifest names this segment: a commit was interrupted"
            report.findings.append(
                Finding(Level.LEFTOVER, "orphan-segment", keys.under(path), message, fixable=True)
            )
    for file in files:
        report.files += 1
        report.records += file.records
        report.bytes += file.bytes
        version = manifest.versions.get(file.schema_hash)
        yield Examination(keys, file, version.digest if version else None)
    for path in sorted(gone.uncommitted & {*found.files, *found.merges}):
        message = (
            "of a vacuum that was interrupted, or is under way: its lines are all in other files; "
            "`singerlake vacuum --purge` removes it"
        )
        report.findings.append(Finding(Level.LEFTOVER, "orphan-merge", keys.under(path), message))
    report.findings += _waiting(found, rows | gone.replaced)
    named = rows | gone.replaced | gone.uncommitted | gone.stood_for
    named |= {note.file for note in found.notes}
    for path, listed in found.files.items():
        if path in named:
            continue
        if gone.lost:
            report.findings.append(_unsure_orphan(keys, path, gone.lost))
        elif path in gone.alone and not gone.alone[path].is_adopted:
            report.findings.append(_shared_orphan(keys, path))
        else:
            yield Examination(keys, listed)


def _shortened(
    store: Store,
    found: StreamInventory,
    read: _Log,
    copy: Manifest | None,
    places: Sequence[Place],
) -> Iterator[Finding]:
    keys = found.keys
    proven = shortened.find(store, keys, read.manifest, read.files, copy, places)
    if proven is not None:
        message = (
            f"{proven.reason}: an older manifest was put in its place, or commits were lost. "
            "Mending it begins a new log, so that whoever has read further notices"
        )
        yield Finding(Level.ERROR, "log-shorter", keys.manifest, message, fixable=True)
    elif found.has_copy and copy is None:
        message = "the copy of the manifest cannot be read: it is of no use if the manifest is lost"
        yield Finding(Level.LEFTOVER, "copy-corrupt", keys.manifest_copy, message, fixable=True)


class _Log(NamedTuple):
    """A log, read to its end: `segments` are the paths of all that it reaches."""

    manifest: Manifest
    files: list[File]
    segments: set[str]
    wrong_segments: list[Finding]


def _read_log(store: Store, keys: StreamKeys) -> _Log:
    """Raises `NotFound` and `CorruptDocument`."""
    head = log.read_head(store, keys)
    try:
        return _behind(store, keys, head.manifest)
    except (CorruptDocument, StaleSnapshot):
        now = log.read_head(store, keys)
        if now.version == head.version:
            raise
        # A rebuild that replaced the manifest meanwhile may have deleted what that one named.
        return _behind(store, keys, now.manifest)


def _behind(store: Store, keys: StreamKeys, manifest: Manifest) -> _Log:
    return _Log(
        manifest,
        list(log.files(store, keys, manifest)),
        set(log.segment_paths(store, keys, manifest)),
        list(_segments(store, keys, manifest.segments)),
    )


def _without_log(found: StreamInventory, error: NotFound | CorruptDocument) -> Iterator[Finding]:
    key = found.keys.manifest
    if isinstance(error, CorruptDocument):
        yield Finding(Level.ERROR, "manifest-corrupt", key, str(error), fixable=True)
    elif found.files:
        message = f"{len(found.files)} files, and no manifest that orders them"
        yield Finding(Level.ERROR, "manifest-missing", key, message, fixable=True)


def _unsure_orphan(keys: StreamKeys, path: str, lost: set[str]) -> Finding:
    message = (
        "no manifest names this file, and a merge may have replaced it: what the merge did stood "
        f"in {', '.join(sorted(lost))}, which cannot be read; it is not adopted, because its "
        "records would be there twice"
    )
    return Finding(Level.LEFTOVER, "orphan-file", keys.under(path), message)


def _shared_orphan(keys: StreamKeys, path: str) -> Finding:
    message = (
        "no manifest names this merged file, and files that it was made from are gone, though the "
        "log names them: `singerlake rebuild` records that, and takes their lines from it"
    )
    return Finding(Level.LEFTOVER, "orphan-file", keys.under(path), message)


def _waiting(found: StreamInventory, known: Set[str]) -> Iterator[Finding]:
    """What jobs have uploaded and not committed."""
    message = (
        "of a Spark write that is under way, or was killed, or of an attempt that came late: it is "
        "not part of the lake; `singerlake vacuum --purge` removes it"
    )
    noted = {note.file for note in found.notes}
    for path in sorted((noted & found.files.keys()) - known):
        yield Finding(Level.LEFTOVER, "orphan-upload", found.keys.under(path), message)


def _segments(store: Store, keys: StreamKeys, segments: Iterable[Segment]) -> Iterator[Finding]:
    """A segment's row must sum up what is in it, or a reader would skip what it needs."""
    for row in segments:
        content = log.read_segment(store, keys, row)
        rows: list[File | Segment] = [*content.segments, *content.files]
        if row != seals.segment_of(row.level, rows, row.path, row.checksum):
            message = "its row in the manifest does not sum up what is in it"
            yield Finding(Level.ERROR, "segment-wrong", keys.under(row.path), message)
        yield from _segments(store, keys, content.segments)


def _sequences(keys: StreamKeys, manifest: Manifest, files: list[File]) -> Iterator[Finding]:
    """Files and gaps together bear every number from 1 to the last, once, in order."""
    spans = [(file.lowest_sequence, file.sequence, file.path) for file in files]
    spans += [(gap.first_sequence, gap.last_sequence, gap.reason) for gap in manifest.gaps]
    expected = 1
    for first, last, what in sorted(spans):
        if first != expected:
            code = "sequence-gap" if first > expected else "sequence-repeat"
            message = f"expected sequence {expected}, found {first} ({what})"
            yield Finding(Level.ERROR, code, keys.manifest, message)
        expected = last + 1
    if manifest.last_sequence != expected - 1:
        message = f"last_sequence is {manifest.last_sequence}, the newest file has {expected - 1}"
        yield Finding(Level.ERROR, "sequence-gap", keys.manifest, message)
    if [file.sequence for file in files] != sorted(file.sequence for file in files):
        message = "the files do not stand in the order of their sequence numbers"
        yield Finding(Level.ERROR, "sequence-order", keys.manifest, message)
    seen: set[str] = set()
    for file in files:
        if file.path in seen:
            message = f"{file.path} is listed more than once"
            yield Finding(Level.ERROR, "file-repeat", keys.manifest, message)
        seen.add(file.path)


def check_file(store: Store, keys: StreamKeys, digest: str | None, file: File) -> list[Finding]:
    """Read a committed file to the end, and compare it with its name and its entry."""
    key = keys.under(file.path)
    item = key_names.parse(key)
    name = item.name if isinstance(item, StreamObject) else None
    if name is None:
        return [Finding(Level.ERROR, "name-wrong", key, "not the name of a file of this stream")]
    try:
        facts = source.examine(store, key, name)
    except MissingFile as error:
        return [Finding(Level.ERROR, "file-missing", key, str(error))]
    except CorruptFile as error:
        return [Finding(Level.ERROR, "file-corrupt", key, str(error))]
    try:
        merged = merge.read_merge(store, keys, file)
    except (CorruptDocument, StaleSnapshot) as error:
        return [Finding(Level.ERROR, "merge-wrong", key, str(error))]
    found = source.entry(file.path, name, facts)
    comparisons = [
        ("file-size", "bytes", file.bytes, found.bytes),
        ("file-size", "raw bytes", file.raw_bytes, found.raw_bytes),
        ("file-checksum", "checksum", file.checksum, found.checksum),
        ("file-records", "records", file.records, found.records),
        ("file-times", "first record at", file.first, found.first),
        ("file-times", "last record at", file.last, found.last),
        ("name-wrong", "digits in the name", name.digits, _digits(name, found.checksum)),
        ("name-wrong", "first in the name", name.first, _as_in_name(name, key, found.first)),
        ("name-wrong", "last in the name", name.last, _as_in_name(name, key, found.last)),
        ("merge-wrong", "sequence numbers", file.parts if merged else 1, file.parts),
        ("stream-wrong", "stream", keys.stream, facts.content.stream),
        ("schema-wrong", "schema hash", file.schema_hash, facts.content.schema.hash()),
        ("schema-wrong", "schema", digest, facts.content.schema.digest()),
    ]
    return [
        Finding(Level.ERROR, code, key, f"{what}: expected {expected}, found {actual}")
        for code, what, expected, actual in comparisons
        if expected != actual
    ]


def _digits(name: FileName, checksum: str) -> str:
    return key_names.digits_of(checksum) if name.digits else ""


def _as_in_name(name: FileName, key: str, moment: datetime) -> datetime:
    """Older names have whole seconds: compare with those."""
    has_six_digits = key.endswith(f"/{name}")
    whole_seconds = name.first.microsecond == 0 == name.last.microsecond and not has_six_digits
    return moment.replace(microsecond=0) if whole_seconds else moment


def _check_listed(store: Store, keys: StreamKeys, file: ListedFile, logged: bool) -> list[Finding]:
    key = keys.under(file.path)
    try:
        source.examine_listed(store, keys, file)
    except (CorruptFile, MissingFile) as error:
        if not logged:
            return [Finding(Level.ERROR, "file-corrupt", key, str(error))]
        message = f"no manifest names this file, and it cannot be read: {error}"
        return [Finding(Level.LEFTOVER, "orphan-corrupt", key, message)]
    if not logged:
        return []
    gone = orphan.gone_from(store, keys, file)
    if gone:
        message = (
            f"no manifest names this file, and the bytes that it names are gone ({gone[0]}): its "
            "commit was interrupted, and it is not adopted"
        )
        return [Finding(Level.LEFTOVER, "orphan-corrupt", key, message)]
    message = "no manifest names this file: its commit was interrupted, or is under way"
    return [Finding(Level.LEFTOVER, "orphan-file", key, message, fixable=True)]
