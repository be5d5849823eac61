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

from singerlake.errors import BadName, CorruptDocument, NotFound
from singerlake.format import keys as key_names
from singerlake.format import merge as merges
from singerlake.format.keys import StreamKeys, StreamObject
from singerlake.format.manifest import File, MergeRef
from singerlake.format.merge import Merge, Retiree
from singerlake.lake import clock, naming
from singerlake.lake.alone import Accounted, Alone, of_merge, sort_out
from singerlake.lake.inventory import StreamInventory
from singerlake.lake.parallel import in_parallel
from singerlake.lake.returned import Returned
from singerlake.store import Store


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

    @property
    def stood_for(self) -> set[str]:
        """What is still there, and comes back with a merged file that is alone."""
        return {path for one in self.alone.values() for path in one.stands_for}

    @property
    def not_whole(self) -> set[str]:
        """Merged files that are alone, and are not adopted as they are."""
        return {path for path, one in self.alone.items() if not one.is_whole}


def find(
    store: Store,
    found: StreamInventory,
    files: Iterable[File],
    readable: Mapping[str, str] | None = None,
) -> Retired:
    """What the committed `files` replaced, and which of the listed merges are not committed.

    `readable` are the listed files that can be read, with their checksums: all, where nobody has
    read them.
    """
    retired, log = Retired(), Accounted()
    lying: Container[str] = found.files if readable is None else readable
    checksums = dict(readable or {})
    named: set[str] = set()
    committed: dict[str, File] = {}
    for file in files:
        checksums[file.path] = file.checksum
        named.add(file.path)
        log.add([file.checksum], file.path in found.files)
        if file.merge is not None:
            committed[file.merge.path] = file
    returned = Returned(found.files.keys() - named)
    very = partial(_very, store, found.keys, found.files, checksums, returned)
    documents = read_all(store, found.keys, committed)
    others = standing_in(store, found.keys, committed, documents, found.merges)
    documents |= {path: merge for path, (_, merge) in others.items()}
    retired.lost.update(committed.keys() - documents.keys())
    for path, merge in documents.items():
        row = committed[path]
        log.add(of_merge(merge), row.path in found.files)
        since = replaced_at(row.merge, found.merges.get(path))
        for one in very(merge):
            _note(retired.replaced_at, one.path, one.at or since)
    known = {*committed, *(row.path for row in committed.values()), *retired.replaced}
    known |= {path for path, _ in others.values()}
    loose = read_all(store, found.keys, (path for path in found.merges if path not in known))
    loose = {path: merge for path, merge in loose.items() if merge.path not in known}
    there = {path: merge for path, merge in loose.items() if merge.path in lying}
    alone, left = sort_out(_newest_document(there), very, lying, log)
    retired.alone = {one.merge.path: one for one in alone.values()}
    for path in left:
        _note(retired.left_at, there[path].path, found.merges[path])
    kept = {path for path, merge in loose.items() if merge.path in retired.alone}
    gone = {path for path in found.merges if path not in known and path not in kept}
    retired.left_at.update((path, found.merges[path]) for path in gone)
    return retired


def standing_in(
    store: Store,
    keys: StreamKeys,
    committed: Mapping[str, File],
    documents: Mapping[str, Merge],
    listed: Iterable[str],
) -> dict[str, tuple[str, Merge]]:
    """By the paths of lost documents of committed merges, others of the same files: one of a log in
    which the file had other numbers says the same of what it was made from."""
    lost = {row.path: path for path, row in committed.items() if path not in documents}
    if not lost:
        return {}
    every = read_all(store, keys, (path for path in listed if path not in committed))
    return {
        lost[merge.path]: (path, merge)
        for path, merge in sorted(every.items())
        if merge.path in lost and len(merge.parts) == committed[lost[merge.path]].parts
    }


def _newest_document(merges: Mapping[str, Merge]) -> dict[str, Merge]:
    """One document for each merged file: that which no other of the same file replaced."""
    replaced = {one.path for merge in merges.values() for one in merge.retired}
    by_file = {
        merge.path: path
        for path, merge in sorted(merges.items(), key=lambda item: item[0] not in replaced)
    }
    return {path: merges[path] for path in by_file.values()}


def _note(times: dict[str, datetime], path: str, moment: datetime) -> None:
    """Of several times that documents tell, the last one counts."""
    times[path] = max(moment, times.get(path, moment))


def replaced_at(reference: MergeRef | None, listed: datetime | None) -> datetime:
    """When a committed merge replaced what its document gives no time for.

    That is the time of its commit, and no earlier than the store dates the document, whatever
    clock the commit was made by. Where neither is known the document is newer than our listing.
    """
    committed = reference.committed if reference is not None else None
    return max(filter(None, (committed, listed)), default=clock.now())


def _very(
    store: Store,
    keys: StreamKeys,
    listed: Container[str],
    checksums: dict[str, str],
    returned: Returned,
    merge: Merge,
) -> list[Retiree]:
    """What a merge replaces, less other files that had the same names later.

    A name that ends in digits of its file's hash is of that file alone. An older one was free again
    after a purge, so a file that has it is read, and its checksum compared.
    """
    replaced = returned.replaced_by(merge)
    older = [
        one.path
        for one in replaced
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
        for one in replaced
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
            accounted = of_merge(merge)
            for path, checksum in wanted.items():
                if checksum in accounted:
                    held.setdefault(path, merged[document])
    return held


def by_listing(
    store: Store, keys: StreamKeys, readable: Mapping[str, str], documents: Iterable[str]
) -> tuple[set[str], dict[str, Alone]]:
    """Which readable files to leave out where no manifest tells, and the merged files that are
    taken, whole or in part, by their paths.

    The files come with their checksums, "" where these are not known. A merged file and the files
    it was made from hold the same lines: where both are there, the merged file is taken.
    """
    checksums = {path: checksum for path, checksum in readable.items() if checksum}
    very = partial(_very, store, keys, readable, checksums, Returned(readable))
    every = read_all(store, keys, documents)
    there = _newest_document({path: one for path, one in every.items() if one.path in readable})
    left_out: set[str] = set()
    standing: dict[str, Alone] = {}
    taken = Accounted()

    def order(item: tuple[str, Merge]) -> tuple[int, int, int, str]:
        retirees = item[1].retired
        again = sum(one.path in every for one in retirees)
        gone = sum(bool(one.checksum) and one.path not in readable for one in retirees)
        return -again, -gone, -len(retirees), item[0]

    for document, merge in sorted(there.items(), key=order):
        replaced = very(merge)
        if document in left_out or merge.path in left_out:
            continue
        if of_merge(merge) & taken.named:
            lies = {one.path for one in replaced if one.checksum and one.path in readable}
            one = _rest(document, merge, lies, replaced, taken)
            if one is not None:
                standing[merge.path] = one
                taken.add((merge.sources()[number] for number in one.takes or ()), True)
            left_out.add(merge.path)
        else:
            left_out |= {one.path for one in replaced}
            standing[merge.path] = Alone(document, merge)
            taken.add(of_merge(merge), True)
    return left_out, standing


def _rest(
    document: str, merge: Merge, lies: Container[str], replaced: Iterable[Retiree], taken: Accounted
) -> Alone | None:
    """What a merge that shares lines with one that is taken has beside these."""
    there = {one.checksum for one in replaced if one.path in lies}
    missing = {
        number
        for number, checksum in merge.sources().items()
        if checksum not in taken.named and checksum not in there
    }
    return Alone(document, merge, frozenset(missing)) if missing else None


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
