"""Make an index again from its lake."""

from __future__ import annotations

from collections.abc import Callable

from singerlake.errors import ConfigError, SingerlakeError
from singerlake.index.commit import NamedFiles
from singerlake.index.ingester import Ingester, OnFailure
from singerlake.index.named import LakeFiles
from singerlake.index.query import Query
from singerlake.index.reindex import reindex
from singerlake.index.scan import covered, has_log
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake
from singerlake.lake.feed.bookmark import START
from singerlake.lake.feed.event import Failed

OnStream = Callable[[int, int], None]
"""How many entries have been indexed, and how many streams."""


def rebuild_index(
    storage: Storage,
    lake: Lake,
    on_failure: OnFailure,
    on_stream: OnStream | None = None,
    named_files: NamedFiles | None = None,
) -> int:
    """Index every stream and every run anew; returns how many entries that are.

    A stream is answered for as it was, until its transaction ends. One that cannot be read stays as
    it is, and is reported. Streams that the lake does not have any more go.
    """
    lake_id = lake.lake_id() or storage.lake_id or ""
    try:
        storage.bind(lake_id, lake.store.url)
    except ConfigError:
        storage.forget()
        storage.bind(lake_id, lake.store.url)
    named_files = named_files or LakeFiles(lake.store)
    entries, streams = 0, set()

    def fail(tap: str, stream: str, error: SingerlakeError) -> None:
        streams.add((tap, stream))
        kind = type(error).__name__
        on_failure(Failed(tap=tap, stream=stream, bookmark=START, error=str(error), kind=kind))

    for stream in covered(lake, Query(), fail):
        streams.add((stream.tap_id, stream.name))
        try:
            with storage.change(stream.tap_id, stream.name) as change:
                entries += reindex(change, stream, lake_id, named_files)
        except SingerlakeError as error:
            fail(stream.tap_id, stream.name, error)
        if on_stream is not None:
            on_stream(entries, len(streams))
    _forget_gone(storage, lake, streams)
    for tap in storage.cursor().runs:
        with storage.change(tap) as change:
            change.clear()
            change.keep(START)
    ingester = Ingester(storage, lake, named_files=named_files, on_failure=on_failure)
    return entries + ingester.poll().entries


def _forget_gone(storage: Storage, lake: Lake, found: set[tuple[str, str]]) -> None:
    """Forget streams of which the lake has nothing any more."""
    for tap, stream in storage.streams():
        if (tap, stream) not in found and not has_log(lake.stream(tap, stream)):
            storage.drop(tap, stream)
