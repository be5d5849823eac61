"""The version of a stream that is published now, and the files that make it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from singerlake.errors import UnknownStream
from singerlake.format.keys import escape
from singerlake.lake.registry import names_in
from singerlake.projection.document import Published, PublishedKeys
from singerlake.projection.publication import read_published_head
from singerlake.store import Store, open_store


def published(
    out: str | Path, tap: str, stream: str, storage_options: Mapping[str, Any] | None = None
) -> Published:
    """The version that is published now. Raises `UnknownStream` where there is none."""
    return require_published(open_store(out, storage_options), PublishedKeys(tap, stream))


def published_files(
    out: str | Path, tap: str, stream: str, storage_options: Mapping[str, Any] | None = None
) -> list[str]:
    """The paths or URLs of the version's files, for any reader that takes a list of files."""
    store, keys = open_store(out, storage_options), PublishedKeys(tap, stream)
    files = require_published(store, keys).files
    return [f"{store.url}/{keys.under(file.path)}" for file in files]


def require_published(store: Store, keys: PublishedKeys) -> Published:
    """The version that is published now. Raises `UnknownStream` where there is none."""
    version = read_published_head(store, keys).published
    if version is None:
        raise UnknownStream(
            f"{store.url}/{keys.document}: nothing is published there; "
            "`singerlake project` does that"
        )
    return version


def published_streams(store: Store) -> list[PublishedKeys]:
    """The streams that have a folder in a projection's output, by tap and name."""
    return [
        PublishedKeys(tap_id, stream)
        for tap_id in names_in(store, "")
        for stream in names_in(store, escape(tap_id))
    ]
