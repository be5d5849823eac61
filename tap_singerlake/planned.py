"""What is replayed of one stream, planned before its first line comes out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from singerlake.format.catalogue import Entry
from singerlake.format.manifest import File
from singerlake.lake import Stream, markers
from tap_singerlake import content, plan, schema_line
from tap_singerlake.content import Opened
from tap_singerlake.plan import Replay
from tap_singerlake.settings import Window


@dataclass(frozen=True)
class Planned:
    """A replay, its files, each opened when its first block is asked for, and the SCHEMA line that
    holds the records of all versions, where that is asked for."""

    replay: Replay
    opened: Iterator[Opened]
    merged: bytes = b""


def planned(
    source: Stream,
    entry: Entry,
    window: Window,
    state: Mapping[str, Any] | None,
    log: logging.Logger,
) -> Planned:
    """What to replay from this bookmark on; None asks for the whole stream, whatever was read."""
    snapshot = source.snapshot()
    if snapshot.by_listing:
        log.warning(
            "The manifest of '%s' is missing: reading by listing, without bookmarks; "
            "`singerlake rebuild` makes it again",
            source.name,
        )
    else:
        markers.require(snapshot, entry)
    if plan.asks_in_vain(snapshot, window):
        log.warning(
            "Stream '%s' has none of the schema versions asked for; it has %s",
            source.name,
            ", ".join(snapshot.versions),
        )
    replay = plan.replay(snapshot, window, state or {})
    merged = b""
    if window.versions == "merged":
        merged = schema_line.merged(snapshot, entry, replay.as_of)
    chosen = replay.selection
    if replay.again:
        log.warning(
            "Of stream '%s', %d files hold records from before end_time and are behind "
            "later ones: the bookmark stays at %d, and a run from there gives them again",
            source.name,
            replay.again,
            replay.reach,
        )
    files: Iterable[File] = snapshot.files(chosen)
    if state is not None and not snapshot.by_listing and window.limits:
        files = _counting(source.name, window, replay, files, log)
    return Planned(replay, (content.opened(snapshot, file, chosen) for file in files), merged)


def _counting(
    stream: str, window: Window, replay: Replay, files: Iterable[File], log: logging.Logger
) -> Iterator[File]:
    """The same files, then a word on what the bookmark passed over."""
    left_out, before = 0, replay.selection.since
    for file in files:
        yield file
        if replay.passes(file):
            left_out += plan.left_out(replay.snapshot, window, before, file)
            before = file.sequence
    if left_out:
        limits = [name for name in window.limits if name != "end_time"]
        # A start is set once and stays: what is older was never wanted.
        log.log(
            logging.INFO if limits == ["start_time"] else logging.WARNING,
            "Of stream '%s', %d committed files were left out, whole or in part, for %s; the "
            "bookmark is past them: a later run gives them only without it "
            "(Meltano: --full-refresh)",
            stream,
            left_out,
            ", ".join(limits),
        )
