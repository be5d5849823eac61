"""A cursor: a bookmark for each stream, and one for each tap's runs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from singerlake.errors import CorruptDocument, StaleBookmark
from singerlake.format import document
from singerlake.lake.feed.bookmark import Bookmark

KIND = "singerlake.cursor"

StreamKey = tuple[str, str]
"""A tap and a stream."""


class Cursor(msgspec.Struct, frozen=True):
    """Where a consumer stands in every stream that it has seen. `runs` is by tap."""

    bookmarks: Mapping[StreamKey, Bookmark] = MappingProxyType({})
    runs: Mapping[str, Bookmark] = MappingProxyType({})

    def encode(self) -> bytes:
        """One small JSON document; names in order, so that equal cursors have equal bytes."""
        taps: dict[str, dict[str, Bookmark]] = {}
        for (tap, stream), bookmark in sorted(self.bookmarks.items()):
            taps.setdefault(tap, {})[stream] = bookmark
        return document.encode(_Document(taps=taps, runs=dict(sorted(self.runs.items()))))

    @staticmethod
    def decode(data: bytes, where: str = "the cursor") -> Cursor:
        """Raises `StaleBookmark` for what is no cursor, and `UnsupportedFormat` for a newer one."""
        try:
            body = _decode(data, where)
        except CorruptDocument as error:
            raise StaleBookmark(str(error)) from None
        bookmarks = {
            (tap, stream): bookmark
            for tap, streams in body.taps.items()
            for stream, bookmark in streams.items()
        }
        return Cursor(bookmarks, body.runs)


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    format: str = KIND
    format_version: int = document.VERSION
    taps: dict[str, dict[str, Bookmark]] = {}
    runs: dict[str, Bookmark] = {}


_decode = document.reader(_Document, KIND)
