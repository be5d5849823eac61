"""Index one stream from its beginning, within one change."""

from __future__ import annotations

from singerlake.errors import UnknownStream, UnknownTap
from singerlake.index.application import Application
from singerlake.index.commit import NamedFiles
from singerlake.index.storage.base import Change
from singerlake.lake import Stream
from singerlake.lake.feed.bookmark import START


def reindex(change: Change, stream: Stream, lake_id: str, named_files: NamedFiles) -> int:
    """Put what the stream has now in place of all that the index has of it; returns how many
    entries that are.

    Raises what reading raises: then the change has to be taken back.
    """
    change.clear()
    applied = Application(change, lake_id, named_files)
    applied.bookmark = START
    try:
        events = stream.increment().events()
    except (UnknownStream, UnknownTap):
        events = iter(())  # registered, and nothing is committed yet
    for event in events:
        applied.apply(event)
    change.keep(applied.bookmark)
    return applied.entries
