"""A marker: how far a stream's log is known to have come, in the stream's catalog entry.

It is a lower bound, moved forward at the end of a run. A log that does not reach it has lost
something: its folder, its end, or the whole of it to an older manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from singerlake.format.catalogue import Entry

LOG_KEY = "singerlake.log-id"
SEQUENCE_KEY = "singerlake.last-sequence"
"""Where an entry's root metadata holds the marker, beside the schema hash."""


MOST = 2**53


class Marker(NamedTuple):
    """The log with this id has had commits up to this number."""

    log_id: str
    sequence: int


def of(entry: Entry | None) -> Marker | None:
    """None where the entry has none, or what somebody wrote by hand."""
    root = {} if entry is None else _root(entry)
    log_id, sequence = root.get(LOG_KEY), root.get(SEQUENCE_KEY)
    if not isinstance(log_id, str) or not isinstance(sequence, int) or isinstance(sequence, bool):
        return None
    return Marker(log_id, sequence) if log_id and 0 < sequence <= MOST else None


def marked(entry: Entry, marker: Marker | None) -> Entry:
    """The entry with this marker instead of its own, or without one."""
    told = {} if marker is None else {LOG_KEY: marker.log_id, SEQUENCE_KEY: marker.sequence}
    root = {name: value for name, value in _root(entry).items() if name not in _KEYS} | told
    items = entry.get("metadata", [])
    if all(item.get("breadcrumb") != [] for item in items):
        items = [{"breadcrumb": []}, *items] if told else items
    changed = [
        {**item, "metadata": root} if item.get("breadcrumb") == [] else item for item in items
    ]
    return {**entry, "metadata": changed} if changed else entry


def moved(known: Marker, reached: Marker) -> Marker:
    """Forward only. A marker of another log stays until a rebuild or a restore says what became
    of that log."""
    return known if known.log_id != reached.log_id else max(known, reached)


def keeping(known: Mapping[str, Entry], entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """These entries in place of what their streams had, with the markers that are known."""
    changed = {name: marked(entry, of(known.get(name))) for name, entry in entries.items()}
    return {**known, **changed}


def is_same(known: Entry | None, entry: Entry) -> bool:
    """Whether two entries say the same, markers aside."""
    return known is not None and marked(known, None) == marked(entry, None)


_KEYS = frozenset({LOG_KEY, SEQUENCE_KEY})


def _root(entry: Entry) -> dict[str, Any]:
    for item in entry.get("metadata", []):
        if item.get("breadcrumb") == []:
            return dict(item.get("metadata", {}))
    return {}
