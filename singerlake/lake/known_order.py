"""The order of a stream's files as far as something proves it: what a rebuild keeps.

That is the manifest where all of it can be read, and nothing says that it is an older one.
Otherwise it is the beginning of the log, up to a number: from the manifest as far as its segments
can be read, or from its copy. What comes behind is in a new log, which continues the old one up to
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import msgspec

from singerlake.errors import CorruptDocument, NotFound, StaleSnapshot
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Manifest
from singerlake.lake import continuation, log, manifest_copy, shortened
from singerlake.lake.shortened import Place
from singerlake.store import Store


@dataclass(frozen=True)
class Known:
    """A manifest, with the rows that are proven; none of either, where nothing is.

    `version` is that of what lies in the manifest's place, readable or not, None where nothing
    does. `up_to` is the last proven number where the log has to be begun anew, None where it goes
    on. `moved` are those of the rows that were put in the place of others, with the same lines
    under the same numbers. `by_files` says that the manifest can be read, and that files which it
    does not name are all that speaks for a longer log.
    """

    manifest: Manifest | None = None
    files: tuple[File, ...] = ()
    version: str | None = None
    up_to: int | None = None
    moved: tuple[File, ...] = ()
    by_files: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the log goes on as it is: then nothing is committed that it does not name."""
        return self.manifest is not None and self.up_to is None

    @property
    def names_every_commit(self) -> bool:
        """Whether nothing was committed that the log does not name, as far as anybody knows."""
        return self.is_whole or self.by_files

    @property
    def may_tell_more(self) -> bool:
        """Whether the manifest may name a file that came since the others were listed, unseen.

        Writers go on committing to a log that cannot be read whole. All that it names was there
        before it, so that a listing from now on has it.
        """
        return not self.is_whole and self.version is not None


def find(
    store: Store, keys: StreamKeys, places: Iterable[Place] = (), by_files: bool = False
) -> Known:
    """What is known of the order now; `places` are those of readers, which prove that a log was so
    long, and were read before. Where it is `by_files`, a log against which nothing speaks is begun
    anew all the same. Raises `UnsupportedFormat`."""
    copy = manifest_copy.read(store, keys)  # before the manifest: a later one is of later commits
    try:
        stored = store.read(keys.manifest)
    except NotFound:
        return _beginning(store, keys, None, copy, None)
    try:
        manifest = log.decode(store, keys, stored.data)
    except CorruptDocument:
        return _beginning(store, keys, None, copy, stored.version)
    try:
        files = tuple(log.files(store, keys, manifest))
    except CorruptDocument:
        return _beginning(store, keys, manifest, copy, stored.version)
    mended = _mended(store, keys, Known(manifest, files, stored.version), copy, places)
    if by_files and mended.is_whole:
        return replace(mended, up_to=manifest.last_sequence, by_files=True)
    return mended


def _beginning(
    store: Store,
    keys: StreamKeys,
    manifest: Manifest | None,
    copy: Manifest | None,
    version: str | None,
) -> Known:
    """The longer beginning of the log, of those that manifest and copy have."""
    if manifest is not None and copy is not None and copy.log_id != manifest.log_id:
        if continuation.common(copy, manifest.log_id):
            manifest = None  # the copy is of a log that was begun anew from this one
        else:
            copy = None
    found = [_readable(store, keys, one) for one in (manifest, copy) if one is not None]
    best, files = max(found, key=lambda one: one[0].last_sequence, default=(None, ()))
    if best is None or not best.last_sequence:
        return Known(version=version)
    return Known(best, tuple(files), version, best.last_sequence)


def _readable(
    store: Store, keys: StreamKeys, manifest: Manifest
) -> tuple[Manifest, Sequence[File]]:
    """The manifest up to where its segments can be read, and the rows up to there."""
    files: list[File] = []
    last, seen = 0, set[str]()
    waiting = list(reversed(manifest.segments))
    while waiting:
        segment = waiting.pop()
        try:
            if segment.path in seen:
                raise CorruptDocument(f"{segment.path} is named more than once")
            content = log.read_segment(store, keys, segment)
        except (CorruptDocument, StaleSnapshot):
            last = segment.first_sequence - 1
            break
        seen.add(segment.path)
        files += content.files
        waiting.extend(reversed(content.segments))
    else:
        return manifest, [*files, *manifest.files]
    gaps = takewhile(lambda gap: gap.last_sequence <= last, manifest.gaps)
    cut = msgspec.structs.replace(
        manifest, segments=(), files=tuple(files), last_sequence=last, gaps=tuple(gaps)
    )
    return cut, files


def _mended(
    store: Store, keys: StreamKeys, whole: Known, copy: Manifest | None, places: Iterable[Place]
) -> Known:
    """What is known where the manifest can be read, and may be an older one."""
    manifest, files = whole.manifest, whole.files
    assert manifest is not None
    found = shortened.find(store, keys, manifest, files, copy, places)
    if found is None:
        return whole
    if found.copy is None or copy is None:
        return Known(manifest, files, whole.version, found.up_to)
    later = msgspec.structs.replace(copy, segments=manifest.segments)
    if files and copy.revision_number != manifest.revision_number:
        # The rows are not those that readers of the copy's revision have seen: merged files, say.
        later = manifests.revised(later, "unknown", 1, manifest.last_sequence)
    if found.up_to == manifest.last_sequence and _follow(manifest, copy, found.rows):
        # The copy goes on where the manifest ends: it knows what was lost.
        return Known(later, (*files, *found.rows), whole.version, copy.last_sequence)
    older = msgspec.structs.replace(manifest, log_id=copy.log_id, continues=copy.continues)
    return Known(older, files, whole.version, found.up_to)


def _follow(manifest: Manifest, copy: Manifest, rows: Iterable[File]) -> bool:
    """Whether these rows, with the gaps of the copy, are all that it has behind a manifest."""
    last = manifest.last_sequence
    gone = (gap for gap in copy.gaps if gap.last_sequence > last)
    missing = sum(gap.last_sequence - max(gap.first_sequence, last + 1) + 1 for gap in gone)
    return sum(row.parts for row in rows) + missing == copy.last_sequence - last
