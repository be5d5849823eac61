"""The published tables of a stream, as its page shows them: how far they go, and their misfits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from singerlake.errors import DamageError, StoreError, UnsupportedFormat
from singerlake.projection.document import PublishedKeys
from singerlake.projection.publication import read_published_head
from singerlake.store import Store


@dataclass(frozen=True)
class TableFacts:
    """What `singerlake project` published of a stream at one address.

    `sequence` is the commit up to which the table goes. `misfits` has the columns with values that
    did not fit and are null, and how many, the most first. `problem` is what stood in the way.
    """

    address: str
    version: int = 0
    published: datetime | None = None
    format: str = ""
    mode: str = ""
    records: int = 0
    sequence: int = 0
    misfits: tuple[tuple[str, int], ...] = ()
    problem: str = ""

    @property
    def misfit_count(self) -> int:
        return sum(count for _, count in self.misfits)


def tables(outputs: Sequence[Store], tap_id: str, stream: str) -> tuple[TableFacts, ...]:
    """The tables of a stream in these outputs; an output that has none is left out."""
    found = (_table(store, PublishedKeys(tap_id, stream)) for store in outputs)
    return tuple(table for table in found if table is not None)


def _table(store: Store, keys: PublishedKeys) -> TableFacts | None:
    address = f"{store.url}/{keys.folder}"
    try:
        published = read_published_head(store, keys).published
    except (DamageError, StoreError, UnsupportedFormat) as error:
        return TableFacts(address, problem=str(error))
    if published is None:
        return None
    return TableFacts(
        address=address,
        version=published.version,
        published=published.published,
        format=published.settings.format,
        mode=published.settings.mode,
        records=published.records,
        sequence=published.sequence,
        misfits=tuple(sorted(published.misfit_counts.items(), key=lambda item: -item[1])),
    )
