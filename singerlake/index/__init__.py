"""The index: every file of a lake by tap, stream, time and run, in a database of its own.

storage = open_index("sqlite:///index.db")
follow(storage, open_lake("s3://bucket/lake"))
for entry in storage.page(Query(stream="orders", start=micros(start), end=micros(end))):
    print(entry.id, entry.key)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singerlake.index.check import check_index
    from singerlake.index.entry import Entry, Upload, micros, moment
    from singerlake.index.export import export_lines
    from singerlake.index.ingester import Ingester, follow
    from singerlake.index.interval import parse_interval
    from singerlake.index.open import open_index
    from singerlake.index.page import Page, read_page
    from singerlake.index.query import Position, Query, matches
    from singerlake.index.rebuild import rebuild_index
    from singerlake.index.scan import scan_lake
    from singerlake.index.storage.base import Storage
    from singerlake.index.summary import Tally

_HOMES = {
    "Entry": "entry",
    "Ingester": "ingester",
    "Page": "page",
    "Position": "query",
    "Query": "query",
    "Storage": "storage.base",
    "Tally": "summary",
    "Upload": "entry",
    "check_index": "check",
    "export_lines": "export",
    "follow": "ingester",
    "matches": "query",
    "micros": "entry",
    "moment": "entry",
    "open_index": "open",
    "read_page": "page",
    "parse_interval": "interval",
    "rebuild_index": "rebuild",
    "scan_lake": "scan",
}
"""The module of each public name, which is loaded when the name is used."""

__all__ = [
    "Entry",
    "Ingester",
    "Page",
    "Position",
    "Query",
    "Storage",
    "Tally",
    "Upload",
    "check_index",
    "export_lines",
    "follow",
    "matches",
    "micros",
    "moment",
    "open_index",
    "parse_interval",
    "read_page",
    "rebuild_index",
    "scan_lake",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
