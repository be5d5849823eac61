"""The views of a lake in SQL: one for each stream, and one for each published projection.

"tap-github--meltano"."issues"               a stream
issues                                       the same, where one tap alone has such a stream
published."tap-github--meltano"."issues"     its projection
published.issues                             the same, where it is the only one of that name
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from singerlake.sql.name import RESERVED, distinct, quoted

Catalog = Literal["memory", "published"]


@dataclass(frozen=True)
class View:
    """A view: of which stream, and where it stands. `is_only` where no other has its name."""

    tap_id: str
    stream: str
    catalog: Catalog
    schema: str
    name: str
    is_only: bool

    @property
    def sql(self) -> str:
        """As a query names it."""
        short = quoted(self.name) if self.is_only else f"{quoted(self.schema)}.{quoted(self.name)}"
        return short if self.catalog == "memory" else f"{self.catalog}.{short}"

    @property
    def names(self) -> tuple[str, ...]:
        """Without quotes: as DuckDB calls it in an error."""
        own = (self.name, f"{self.schema}.{self.name}")
        return own if self.catalog == "memory" else tuple(f"{self.catalog}.{name}" for name in own)


def views(streams: Iterable[tuple[str, str]], catalog: Catalog) -> list[View]:
    """A view for each stream of each tap, given as (tap id, stream)."""
    by_tap: dict[str, list[str]] = {}
    for tap_id, stream in streams:
        by_tap.setdefault(tap_id, []).append(stream)
    schemas = distinct(by_tap, RESERVED)
    names = {tap_id: distinct(sorted(found)) for tap_id, found in by_tap.items()}
    count = Counter(name.lower() for found in names.values() for name in found.values())
    return [
        View(tap_id, stream, catalog, schemas[tap_id], name, count[name.lower()] == 1)
        for tap_id, found in names.items()
        for stream, name in found.items()
    ]
