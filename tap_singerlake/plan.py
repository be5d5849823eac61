"""Which files of a stream a run replays: what came since the bookmark, in the window asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from singerlake.errors import ConfigError, StaleBookmark
from singerlake.format.manifest import File
from singerlake.format.nearest import did_you_mean
from singerlake.lake import Bookmark, Selection, Snapshot, schemas
from tap_singerlake.settings import WORDS, Window

MOST_STREAMS = 5
"""How many streams an error tells of."""


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


def require_versions(snapshots: Sequence[Snapshot], window: Window) -> None:
    """Raises `ConfigError` for a hash that none of these streams has: nothing would come of it."""
    if isinstance(window.versions, str):
        return
    known = {hashed for snapshot in snapshots for hashed in schemas.hashes(snapshot)}
    unknown = sorted(window.versions - known)
    if unknown:
        streams = [f"{one.keys.stream!r} has {schemas.listed(one)}" for one in snapshots]
        more = "" if len(streams) <= MOST_STREAMS else "; `singerlake show` lists the others"
        meant = did_you_mean(unknown[0], [*known, *WORDS])
        raise ConfigError(
            f"schema_versions names {', '.join(unknown)}, which no selected stream has: "
            f"{'; '.join(streams[:MOST_STREAMS])}{more}.{meant}"
        )


def _hashes(snapshot: Snapshot, window: Window) -> frozenset[str] | None:
    if window.versions in ("all", "merged"):
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
