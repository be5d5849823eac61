"""Which files of a stream a run replays: what came since the bookmark, in the window asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from singerlake.errors import ConfigError, StaleBookmark
from singerlake.format.manifest import File
from singerlake.format.nearest import did_you_mean
from singerlake.lake import Bookmark, Selection, Snapshot, schemas
from singerlake.lake.extent import covered
from singerlake.lake.feed import increment, position
from singerlake.lake.feed.increment import Increment
from tap_singerlake.settings import WORDS, Window

MOST_STREAMS = 5
"""How many streams an error tells of."""


@dataclass(frozen=True)
class Replay:
    """What to replay: the `selection` of an increment. `reach` is the last number up to which
    nothing is left out for an end time, None without one: the bookmark stays there. So `again`
    files behind it, of which some records are given now, come again. `runs` are the runs that were
    asked for, if any: a bookmark among their commits means nothing for others. `as_of` is the last
    number of the state that was asked for, None for the newest.
    """

    increment: Increment
    selection: Selection
    runs: tuple[str, ...] = ()
    reach: int | None = None
    again: int = 0
    as_of: int | None = None

    @property
    def snapshot(self) -> Snapshot:
        return self.increment.snapshot

    def state(self, file: File) -> dict[str, Any]:
        """Where a run stands after this file, as its STATE has it.

        `check` is there also where it is empty: a runner that joins two STATEs, as Meltano does,
        would keep that of the older one.
        """
        place = self._last if file.sequence > self._end else self.increment.bookmark(file)
        state = place.to_json() | {"check": place.check}
        return state | ({"runs": list(self.runs)} if self.runs else {})

    def passes(self, file: File) -> bool:
        """Whether the bookmark moves past this file."""
        return self.reach is None or file.sequence <= self.reach

    @cached_property
    def _end(self) -> int:
        """The number that no bookmark of this run passes."""
        ends = (self.snapshot.last_sequence, self.selection.until, self.reach)
        return min(number for number in ends if number is not None)

    @cached_property
    def _last(self) -> Bookmark:
        """The bookmark there. Kept: it may cost a request, and several files may ask for it."""
        since = self.increment.since
        if since is not None and self._end <= since.sequence:
            return since
        return position.at(self.snapshot, self._end)


def replay(snapshot: Snapshot, window: Window, state: Mapping[str, Any]) -> Replay:
    """What to replay. Raises what makes the bookmark void."""
    found = covered(snapshot, window.extent)
    runs: tuple[str, ...] = found.run.identity if found.run else ()
    if isinstance(window.extent.runs, tuple):
        runs = window.extent.runs
    new = increment.take(snapshot, _since(snapshot, state, runs))
    asked = replace(
        found.selection,
        start=window.start,
        end=window.end,
        schema_hashes=_hashes(snapshot, window, found.selection.until),
    )
    selection = new.within(asked)
    plan = Replay(new, selection, runs, as_of=found.selection.until)
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
    return (snapshot.last_sequence if reach is None else reach), again


def _since(snapshot: Snapshot, state: Mapping[str, Any], runs: tuple[str, ...]) -> Bookmark | None:
    """The bookmark that counts; None to begin with the first commit."""
    if "sequence" not in state:
        return None
    stream, held = snapshot.keys.stream, tuple(state.get("runs") or ())
    if runs and held != runs:
        return None  # of other runs; these were not given yet
    if held and not runs:
        raise StaleBookmark(
            f"stream {stream!r}: the bookmark is among the commits of the runs "
            f"{', '.join(held)}, and all are asked for; read the stream whole once (Meltano: "
            "--full-refresh), or set runs as before"
        )
    try:
        return Bookmark.parse(state)
    except StaleBookmark as error:
        raise StaleBookmark(f"stream {stream!r}: {error}") from None


def asks_in_vain(snapshot: Snapshot, window: Window) -> bool:
    """Whether schema versions are asked for by hash, and this stream has none of them."""
    return (
        not isinstance(window.versions, str)
        and not snapshot.by_listing
        and window.versions.isdisjoint(snapshot.versions)
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
        for gap in snapshot.gaps
    )
    cut = not (window.holds(file.first) and window.holds(file.last))
    return max(last - first + 1, 0) - gone + cut
