"""Which files of a stream a run replays: what came since the bookmark, in the window asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from singerlake.errors import StaleBookmark
from singerlake.format.manifest import File
from singerlake.lake import Bookmark, Selection, Snapshot
from tap_singerlake.settings import Window


def bookmark(snapshot: Snapshot, file: File) -> dict[str, Any]:
    """Where a run stands after this file, as its STATE has it."""
    return asdict(snapshot.bookmark(file))


def selection(snapshot: Snapshot, window: Window, state: Mapping[str, Any]) -> Selection:
    """What to replay. Raises what makes the bookmark void."""
    return Selection(
        since=_since(snapshot, state),
        start=window.start,
        end=window.end,
        schema_hashes=_hashes(snapshot, window),
    )


def _since(snapshot: Snapshot, state: Mapping[str, Any]) -> int:
    if "sequence" not in state:
        return 0
    if not isinstance(state["sequence"], int):
        raise StaleBookmark(
            f"stream {snapshot.keys.stream!r}: the bookmark is at {state['sequence']!r}, which is "
            "no sequence number; read the stream whole once (Meltano: --full-refresh)"
        )
    place = Bookmark(str(state.get("log_id")), state["sequence"])
    snapshot.require(place)
    return place.sequence


def asks_in_vain(snapshot: Snapshot, window: Window) -> bool:
    """Whether schema versions are asked for by hash, and this stream has none of them."""
    return (
        not isinstance(window.versions, str)
        and not snapshot.by_listing
        and window.versions.isdisjoint(snapshot.manifest.versions)
    )


def _hashes(snapshot: Snapshot, window: Window) -> frozenset[str] | None:
    if window.versions == "all":
        return None
    if window.versions == "latest":
        return frozenset({snapshot.schema_in_use})
    return frozenset(window.versions)


def left_out(snapshot: Snapshot, window: Window, before: int, file: File) -> int:
    """How many files, whole or in part, the window leaves out as the bookmark moves to this one.

    `before` is where the bookmark stood. Numbers that no file bears any more do not count.
    """
    first, last = before + 1, file.lowest_sequence - 1
    gone = sum(
        max(min(last, gap.last_sequence) - max(first, gap.first_sequence) + 1, 0)
        for gap in snapshot.manifest.gaps
    )
    cut = not (window.holds(file.first) and window.holds(file.last))
    return max(last - first + 1, 0) - gone + cut
