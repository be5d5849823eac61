"""Files of any kind, given back: a record's marked properties say where the files are now."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from singerlake.errors import MissingFile
from singerlake.files.reading import fetch
from singerlake.format import blob, blob_keys
from singerlake.format.keys import StreamKeys, escape
from singerlake.format.schema import Schema
from singerlake.lake import Snapshot, Stream
from singerlake.lake.blobs.live import Live, live
from singerlake.lake.blobs.reference import Marks
from tap_singerlake.settings import FilesBack


class GivenBack:
    """Of one stream: the files that its records name, as URLs into the lake, or fetched."""

    def __init__(self, source: Stream, how: FilesBack, log: logging.Logger) -> None:
        self._source, self._how, self._log = source, how, log
        self._keys = StreamKeys(source.tap_id, source.name)
        self._marks = Marks()
        self._live: Live | None = None

    def concerns(self, snapshot: Snapshot, schema_hash: str) -> bool:
        """Whether records of this version may name files, and somebody wants them."""
        if self._how.mode == "stored":
            return False
        return bool(self._marks.of(snapshot, {schema_hash}))

    def put_back(self, line: bytes, stored: dict[str, Any], schema: Schema) -> None:
        """Change a parsed message: its properties name files that are there, and it says nothing
        of paths inside the lake any more. A file that was forgotten is null."""
        said = blob.named(line, schema.key_properties)
        for field in (blob.FIELD, blob.FORGOTTEN):
            stored.pop(field, None)
        if said is not None:
            for name, path in said.paths.items():
                stored["record"][name] = self._place(path)

    def _place(self, path: str) -> str | None:
        if self._how.mode == "path":
            return f"{self._source.store.url}/{self._keys.under(path)}"
        sha256 = blob_keys.sha256_of(path)
        target = Path(self._how.folder, escape(self._source.name), sha256[:2], sha256)
        if target.is_file():
            return str(target)  # it got its name when all of it was there
        try:
            return str(fetch(self._source, path, target))
        except MissingFile:
            if self._names(path):
                raise
        self._log.info("Stream '%s': %s was forgotten", self._source.name, path)
        return None

    def _names(self, path: str) -> bool:
        """Whether a record still names it: then its bytes are lost, and not forgotten."""
        if self._live is None:
            self._live = live(self._source.snapshot(), self._marks)
        return self._live.names(path)
