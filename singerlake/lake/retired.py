"""Files that a merge replaced, and merges that were never committed: neither is an orphan.

A retired file waits for the purge, so that snapshots taken before the merge stay readable. An
uncommitted merge is the left-over of a vacuum that was interrupted: its lines are all in the files
it was made from. Where these are not there any more, as after an older manifest was put back, it is
no left-over: nothing else has its lines.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import MappingProxyType

from singerlake.errors import BadName, CorruptDocument, NotFound
from singerlake.format import keys as key_names
from singerlake.format import merge as merges
from singerlake.format.keys import StreamKeys, StreamObject
from singerlake.format.manifest import File, MergeRef
from singerlake.format.merge import Merge, Retiree
from singerlake.lake import clock, naming
from singerlake.lake.inventory import StreamInventory
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Alone:
    """A merged file that no manifest names, though nothing else has all its lines any more.

    `stands_for`: the paths of what it replaces and is still there. Once it is in the log again,
    these must not be.
    """

    document: str
    merge: Merge
    stands_for: frozenset[str] = frozenset()


@dataclass
class Retired:
    """Paths below the stream's folder, with times.

    `replaced_at`: what committed merges stand for, and since when; `left_at`: merged files, and
    merge documents, that no manifest names (of merges that were interrupted, or merged again
    since), and when their document was written; `alone`: merged files that no manifest names, and
    that must not go; `lost`: documents of committed merges that cannot be read. While there is
    one, any file that no manifest names may be one that it replaced.
    """

    replaced_at: dict[str, datetime] = field(default_factory=dict)
    left_at: dict[str, datetime] = field(default_factory=dict)
    alone: dict[str, Alone] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    @property
    def replaced(self) -> Set[str]:
        return self.replaced_at.keys()

    @property
    def uncommitted(self) -> Set[str]:
        return self.left_at.keys()

    def stood_for(self, readable: Container[str]) -> set[str]:
        """What is still there, and comes back with a merged file that is alone and can be read."""
        back = [one for path, one in self.alone.items() if path in readable]
        return {path for one in back for path in one.stands_for}


def find(
    store: Store,
    found: StreamInventory,
    files: Iterable[File],
    checksums: Mapping[str, str] = _NONE,
) -> Retired:
    """What the committed `files` replaced, and which of the listed merges are not committed.

    `checksums` are those that are known of listed files.
    """
    retired = Retired()
    known_sums = dict(checksums)
    committed: dict[str, MergeRef] = {}
    standing: set[str] = set()
    for file in files:
        known_sums[file.path] = file.checksum
        if file.merge is not None:
            committed[file.merge.path] = file.merge
            standing.add(file.path)
    very = partial(_very, store, found.keys, found.files, known_sums)
    documents = read_all(store, found.keys, committed)
    retired.lost.update(committed.keys() - documents.keys())
    for path, merge in documents.items():
        since = replaced_at(committed[path], found.merges.get(path))
        for one in very(merge):
            _note(retired.replaced_at, one.path, one.at or since)
    known = {*committed, *standing, *retired.replaced}
    held = {(one.path, one.checksum) for merge in documents.values() for one in merge.retired}
    loose = [path for path in found.merges if path not in known]
    for path, merge in read_all(store, found.keys, loose).items():
        if merge.path in known:
            continue
        there = very(merge)
        if merge.path in found.files and not _all_elsewhere(merge, there, found.files, held):
            stands_for = frozenset(one.path for one in there if one.path in found.files)
            retired.alone[merge.path] = Alone(path, merge, stands_for)
        else:
            _note(retired.left_at, merge.path, found.merges[path])
    kept = {one.document for one in retired.alone.values()}
    retired.left_at.update((path, found.merges[path]) for path in loose if path not in kept)
    return retired


def _all_elsewhere(
    merge: Merge,
    there: Iterable[Retiree],
    listed: Container[str],
    held: Set[tuple[str, str]],
) -> bool:
    """Whether each file that was merged is still there, or in a committed merge.

    What it tells of earlier merges does not count: those files were merged into these.
    """
    whole = {one for one in there if one.path in listed}
    return all(
        one in whole or (one.path, one.checksum) in held
        for one in merge.retired
        if one.checksum and one.at is None
    )


def _note(times: dict[str, datetime], path: str, moment: datetime) -> None:
    """Of several times that documents tell, the last one counts."""
    times[path] = max(moment, times.get(path, moment))


def replaced_at(reference: MergeRef, listed: datetime | None) -> datetime:
    """When a committed merge replaced what its document gives no time for.

    That is the time of its commit, and no earlier than the store dates the document, whatever
    clock the commit was made by. Where neither is known the document is newer than our listing.
    """
    return max(filter(None, (reference.committed, listed)), default=clock.now())


def _very(
    store: Store,
    keys: StreamKeys,
    listed: Container[str],
    checksums: dict[str, str],
    merge: Merge,
) -> list[Retiree]:
    """What a merge replaces, less other files that had the same names later.

    A name that ends in digits of its file's hash is of that file alone. An older one was free again
    after a purge, so a file that has it is read, and its checksum compared.
    """
    older = [
        one.path
        for one in merge.retired
        if one.checksum
        and one.path in listed
        and one.path not in checksums
        and not key_names.is_named_by_content(one.path)
    ]
    found = in_parallel(lambda path: naming.checksum_of(store, keys.under(path)), older)
    # What is gone by now is gone, and not another file.
    checksums.update((path, read or "") for path, read in zip(older, found, strict=True))
    return [
        one
        for one in merge.retired
        if not one.checksum or checksums.get(one.path) in (None, "", one.checksum)
    ]


def list_merges(store: Store, keys: StreamKeys) -> dict[str, datetime]:
    """The merge documents there are now.

    A document is written before its file. So every merged file of a listing has its document in
    one of these that was made later, and is not taken for an orphan.
    """
    merges_now = {}
    for listed in store.list(f"{keys.folder}/_merges"):
        item = key_names.parse(listed.key)
        if isinstance(item, StreamObject) and item.kind == "merge":
            merges_now[item.path] = listed.modified
    return merges_now


def holding(
    store: Store, keys: StreamKeys, rows: Iterable[File], wanted: Mapping[str, str]
) -> dict[str, File]:
    """Which rows hold the `wanted` files (checksums by path): named, or merged into one."""
    every = list(rows)
    # By the checksum too: where a file was lost, another may have taken its name.
    held = {row.path: row for row in every if wanted.get(row.path) == row.checksum}
    if len(held) < len(wanted):
        merged = {row.merge.path: row for row in every if row.merge is not None}
        for document, merge in read_all(store, keys, merged).items():
            for path, checksum in wanted.items():
                if merge.replaces(path, checksum):
                    held.setdefault(path, merged[document])
    return held


def by_listing(
    store: Store,
    keys: StreamKeys,
    readable: Mapping[str, str],
    documents: Iterable[str],
) -> tuple[set[str], dict[str, Merge]]:
    """Which readable files to leave out where no manifest tells, and the merges that stand, by
    their documents' paths. The files come with their checksums, "" where these are not known.

    A merged file and the files it was made from hold the same lines, so where both are there
    either will do, and each line is wanted once. A merge comes before those that it merged again;
    then the one of which most files are gone, which was committed; then the larger. One that
    overlaps another is left out, unless it has lines that nothing else has any more.
    """
    left_out: set[str] = set()
    checksums = {path: checksum for path, checksum in readable.items() if checksum}
    standing: dict[str, Merge] = {}
    documents = frozenset(documents)

    def order(item: tuple[str, Merge]) -> tuple[int, int, int]:
        every = item[1].retired
        again = sum(one.path in documents for one in every)
        gone = sum(bool(one.checksum) and one.path not in readable for one in every)
        return -again, -gone, -len(every)

    for document, merge in sorted(read_all(store, keys, documents).items(), key=order):
        if merge.path not in readable or document in left_out or merge.path in left_out:
            # A document that another replaced tells of the same merged file.
            continue
        replaced = _very(store, keys, readable, checksums, merge)
        paths = {one.path for one in replaced}
        gone = {one.path for one in replaced if one.checksum} - readable.keys()
        if left_out & paths and gone <= left_out:
            left_out.add(merge.path)
        else:
            left_out |= paths
            standing[document] = merge
    return left_out, standing


def read_all(store: Store, keys: StreamKeys, documents: Iterable[str]) -> dict[str, Merge]:
    """Every merge document that can be read, by its path."""
    paths = list(documents)
    found = zip(paths, in_parallel(partial(_read, store, keys), paths), strict=True)
    return {path: merge for path, merge in found if merge is not None}


def _read(store: Store, keys: StreamKeys, path: str) -> Merge | None:
    key = keys.under(path)
    try:
        return merges.decode(store.read(key).data, f"{store.url}/{key}")
    except (BadName, NotFound, CorruptDocument):
        return None
