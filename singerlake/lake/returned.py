"""Files that came back: merged and purged long ago, and put back by a backup since.

A merge document may leave out what is no longer in the store. Which commits it holds it tells for
ever, and so it knows such a file by its times and its checksum.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from singerlake.format.keys import FileName
from singerlake.format.merge import Merge, Retiree


class Returned:
    """The listed paths among which there may be some."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._names: dict[tuple[str, datetime, datetime], list[tuple[str, FileName]]] = {}
        for path in paths:
            schema_hash, _, text = path.partition("/")
            name = FileName.parse(text)
            if name is not None:
                place = (schema_hash, name.first, name.last)
                self._names.setdefault(place, []).append((path, name))

    def replaced_by(self, merge: Merge) -> list[Retiree]:
        """What a merge replaces, and those of the paths that it was made from and has forgotten."""
        found = list(merge.retired)
        known = {one.path for one in found}
        schema_hash = merge.path.partition("/")[0]
        for row in merge.known_rows() if self._names else ():
            for path, name in self._names.get((schema_hash, row.first, row.last), ()):
                if path not in known and path != merge.path and name.may_be_of(row.checksum):
                    known.add(path)
                    found.append(Retiree(path, row.checksum))
        return found
