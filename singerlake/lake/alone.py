"""Merged files that no log names: which of their lines nothing else has, so that these come back.

What a merge was made from is known by the checksums of the files that were committed, for ever:
each merge document has them, and a merge of merged files takes them over. So two merges that share
a line are told apart from two that do not, whatever was purged, forgotten or restored since. A
merged file that shares some lines with the log gives the others alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field

from singerlake.format.merge import Merge, Retiree

Very = Callable[[Merge], list[Retiree]]
"""What a merge replaces, less other files that have the same names."""


@dataclass(frozen=True)
class Alone:
    """A merged file that no manifest names, though it may be all that is left of some lines.

    `takes` are the numbers whose lines nothing else has: None stands for all of the file, and none
    at all for one whose lines are in the log too, under rows whose files are gone: it waits for a
    rebuild. `stands_for` are the paths of what it replaces and is still there: once the whole file
    is in the log, these must not be.
    """

    document: str
    merge: Merge
    takes: frozenset[int] | None = None
    stands_for: frozenset[str] = frozenset()

    @property
    def is_whole(self) -> bool:
        return self.takes is None

    @property
    def is_adopted(self) -> bool:
        return self.takes is None or bool(self.takes)


@dataclass
class Accounted:
    """The checksums of the files whose lines the log has: `named` by its rows, `there` by those
    of its rows whose files are there."""

    named: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)

    def add(self, checksums: Iterable[str], is_there: bool) -> None:
        known = [checksum for checksum in checksums if checksum]
        self.named.update(known)
        if is_there:
            self.there.update(known)


def of_merge(merge: Merge) -> set[str]:
    """Every checksum that a merge accounts for."""
    return {*merge.sources().values(), *(one.checksum for one in merge.retired if one.checksum)}


def sort_out(
    merges: Mapping[str, Merge], very: Very, lying: Container[str], log: Accounted
) -> tuple[dict[str, Alone], list[str]]:
    """The merges, by their documents' paths, whose files must not go, and those that are left over.

    All their files are there and can be read, as are those in `lying`. What one of them gives no
    other gives: those that share no line with the log come first, and whole.
    """
    taken = Accounted(set(log.named), set(log.there))
    found: dict[str, Alone] = {}
    left: list[str] = []
    shared: list[str] = []
    for document in sorted(merges, key=lambda path: _order(merges[path], merges)):
        merge = merges[document]
        replaced = very(merge)
        if of_merge(merge) & taken.named:
            shared.append(document)
        elif _have_all(merge, replaced, lying):
            left.append(document)
        else:
            there = frozenset(one.path for one in replaced if one.path in lying)
            found[document] = Alone(document, merge, None, there)
            taken.add(of_merge(merge), False)
    for document in shared:
        merge = merges[document]
        lies = {one.checksum for one in very(merge) if one.checksum and one.path in lying}
        sources = merge.sources()
        missing = {
            number: checksum
            for number, checksum in sources.items()
            if checksum not in taken.named and checksum not in lies
        }
        safe = sources if merge.tells_sources else dict(enumerate(_replaced_files(merge)))
        if missing or any(one not in taken.there and one not in lies for one in safe.values()):
            found[document] = Alone(document, merge, frozenset(missing))
            taken.add(missing.values(), False)
        else:
            left.append(document)
    return found, left


def _order(merge: Merge, documents: Container[str]) -> tuple[int, int, str]:
    """A merge comes before those that it merged again, then the larger one."""
    again = sum(one.path in documents for one in merge.retired)
    return -again, -len(merge.parts), merge.path


def _replaced_files(merge: Merge) -> list[str]:
    """The checksums of what it replaced itself; what earlier merges had replaced is in these."""
    return [one.checksum for one in merge.retired if one.checksum and one.at is None]


def _have_all(merge: Merge, replaced: Iterable[Retiree], lying: Container[str]) -> bool:
    """Whether each file that was merged is there itself."""
    whole = {one.checksum for one in replaced if one.path in lying}
    return all(checksum in whole for checksum in _replaced_files(merge))
