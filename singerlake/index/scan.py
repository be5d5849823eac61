"""The entries of a lake without an index, from its manifests: slower, and the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from singerlake.errors import NotFound, SingerlakeError, UnknownStream, UnknownTap
from singerlake.index.commit import NamedFiles, entries_of
from singerlake.index.entry import Entry, entry_ids
from singerlake.index.named import LakeFiles
from singerlake.index.query import Query
from singerlake.lake import Lake, Stream
from singerlake.lake.feed.event import Committed

OnFailure = Callable[[str, str, SingerlakeError], None]
"""A stream, or without one a tap, that cannot be read, and why."""


def scan_lake(
    lake: Lake,
    query: Query,
    on_failure: OnFailure | None = None,
    named_files: NamedFiles | None = None,
) -> Iterator[Entry]:
    """The entries of the streams that a query covers; `matches` says which of them it means.

    Without `on_failure` the first stream that cannot be read raises its error.
    """
    lake_id, named_files = lake.lake_id(), named_files or LakeFiles(lake.store)
    for stream in covered(lake, query, on_failure):
        try:
            yield from entries_in(stream, lake_id, named_files)
        except SingerlakeError as error:
            if on_failure is None:
                raise
            on_failure(stream.tap_id, stream.name, error)


def covered(lake: Lake, query: Query, on_failure: OnFailure | None = None) -> Iterator[Stream]:
    """The streams of a lake that a query covers, in order."""
    for tap in lake.taps():
        if query.tap not in (None, tap.tap_id):
            continue
        try:
            streams = tap.streams()
        except SingerlakeError as error:
            if on_failure is None:
                raise
            on_failure(tap.tap_id, "", error)
            continue
        yield from (one for one in streams if query.covers(one.tap_id, one.name))


def entries_in(
    stream: Stream, lake_id: str, named_files: NamedFiles | None = None
) -> Iterator[Entry]:
    """The entries of one stream in the order of its log; none before its first commit."""
    named_files = named_files or LakeFiles(stream.store)
    if not has_log(stream):
        return
    for event in stream.increment().events():
        if isinstance(event, Committed):
            ids = entry_ids(lake_id, stream.tap_id, stream.name, event.log_id)
            yield from entries_of(event, ids, named_files)


def has_log(stream: Stream) -> bool:
    """Whether anything of the stream is there: its manifest, or files without one."""
    try:
        snapshot = stream.snapshot()
    except (NotFound, UnknownStream, UnknownTap):
        return False
    return bool(snapshot.log_id) or snapshot.by_listing
