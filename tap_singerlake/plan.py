"""Which files of a stream a run replays: what came since the bookmark, in the window asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from singerlake.errors import ConfigError, StaleBookmark
from singerlake.format.manifest import File
from singerlake.format.nearest import did_you_mean
from singerlake.lake import Bookmark, Selection, Snapshot, schemas
from singerlake.lake.extent import covered
from singerlake.lake.feed import position
from tap_singerlake.settings import WORDS, Window

MOST_STREAMS = 5
"""How many streams an error tells of."""


@dataclass(frozen=True)
class Replay:
    """What to replay. `reach` is the last number up to which nothing is left out for an end time,
    None without one: the bookmark stays there. So `again` files behind it, of which some records
    are given now, come again. `runs` are the runs that were asked for, if any: a bookmark among
    their commits means nothing for others. `as_of` is the last number of the state that was asked
    for, None for the newest.
    """

    selection: Selection
    runs: tuple[str, ...] = ()
    reach: int | None = None
    again: int = 0
    as_of: int | None = None

    def bookmark(self, snapshot: Snapshot, file: File) -> dict[str, Any]:
        """Where a run stands after this file, as its STATE has it."""
        ends = (file.sequence, self.selection.until, self.reach)
        last = min(number for number in ends if number is not None)
        place = Bookmark(snapshot.manifest.log_id, max(last, self.selection.since))
        return place.to_json() | ({"runs": list(self.runs)} if self.runs else {})

    def passes(self, file: File) -> bool:
        """Whether the bookmark moves past this file."""
        return self.reach is None or file.sequence <= self.reach


def replay(snapshot: Snapshot, window: Window, state: Mapping[str, Any]) -> Replay:
    """What to replay. Raises what makes the bookmark void."""
    found = covered(snapshot, window.extent)
    runs: tuple[str, ...] = found.run.identity if found.run else ()
    if isinstance(window.extent.runs, tuple):
        runs = window.extent.runs
    since = _since(snapshot, state, runs)
    selection = replace(
        found.selection,
        since=since,
        start=window.start,
        end=window.end,
        schema_hashes=_hashes(snapshot, window, found.selection.until),
    )
    plan = Replay(selection, runs, as_of=found.selection.until)
    if window.end is None or snapshot.by_listing:
        return plan
    reach, again = _reach(snapshot, selection, window.end)
    if "sequence" not in state:
        return replace(plan, reach=reach, again=again)
    # A run that goes on from a bookmark gives each record once: what is behind `reach` waits.
    ends = [number for number in (reach, selection.until) if number is not None]
    return replace(plan, selection=replace(selection, until=min(ends)), reach=reach)


def _reach(snapshot: Snapshot, selection: Selection, end: datetime) -> tuple[int, int]:
    """The last number before the first commit that holds a record from the end time on; and how
    many files behind it hold earlier records."""
    reach, again = None, 0
    for row in snapshot.commits(replace(selection, start=None, end=None)):
        if reach is None and row.records and row.last >= end:
            reach = row.lowest_sequence - 1
        again += reach is not None and row.first < end
    return (snapshot.manifest.last_sequence if reach is None else reach), again


def _since(snapshot: Snapshot, state: Mapping[str, Any], runs: tuple[str, ...]) -> int:
    if "sequence" not in state:
        return 0
    held = tuple(state.get("runs") or ())
    if runs and held != runs:
        return 0  # of other runs; these were not given yet
    if held and not runs:
        raise StaleBookmark(
            f"stream {snapshot.keys.stream!r}: the bookmark is among the commits of the runs "
            f"{', '.join(held)}, and all are asked for; read the stream whole once (Meltano: "
            "--full-refresh), or set runs as before"
        )
    if not isinstance(state["sequence"], int):
        raise StaleBookmark(
            f"stream {snapshot.keys.stream!r}: the bookmark is at {state['sequence']!r}, which is "
            "no sequence number; read the stream whole once (Meltano: --full-refresh)"
        )
    place = Bookmark(str(state.get("log_id")), state["sequence"])
    position.require(snapshot, place)
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


def _hashes(snapshot: Snapshot, window: Window, until: int | None) -> frozenset[str] | None:
    if window.versions in ("all", "merged"):
        return None
    if window.versions == "latest":
        return frozenset({schemas.in_use(snapshot, until)})
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
