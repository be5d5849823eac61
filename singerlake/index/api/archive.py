"""The archive: what the API serves, as blocking calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from singerlake.errors import BadCursor
from singerlake.http.answer import Problem
from singerlake.index.api.content import Content, content_of, no_such_file
from singerlake.index.api.parameters import files_request, lookback_since, summary_request
from singerlake.index.entry import Entry
from singerlake.index.page import read_page
from singerlake.index.storage.base import Storage
from singerlake.index.summary import By, Tally
from singerlake.index.v0.metadata import metadata_of
from singerlake.index.v0.moment import to_ms
from singerlake.index.v0.record import record_of
from singerlake.index.v0.slug import from_slug, to_slug
from singerlake.lake import Lake
from singerlake.runtime import REAL, Runtime
from singerlake.store import Store

Given = Mapping[str, str]


@dataclass(frozen=True)
class Archive:
    """An index, the lake that it is of, and where datalake clients upload to, as far as there are
    such. For any thread."""

    storage: Storage
    lake: Lake | None = None
    uploads: Store | None = None
    runtime: Runtime = REAL

    def facts(self) -> dict[str, Any]:
        return {"storage_url": None if self.uploads is None else self.uploads.url}

    def environment(self) -> dict[str, Any]:
        return {"data": {"build": {"version": version("singerlake")}}}

    def files(self, given: Given, base: str, here: str) -> dict[str, Any]:
        """One page; `here` is the address that was asked, up to where a cursor is added."""
        asked = files_request(given, self.runtime.now())
        try:
            page = read_page(self.storage.page, asked.query, asked.cursor, asked.limit)
        except BadCursor as error:
            raise Problem(400, "InvalidCursor", str(error)) from None
        answer: dict[str, Any] = {
            "records": [self._record(entry, base) for entry in page.entries],
            "next": None if page.next is None else f"{here}cursor={page.next}",
        }
        if asked.cursor is None and asked.counts:
            # A page that is the last one has been counted already.
            last = page.next is None
            answer["count"] = len(page.entries) if last else self.storage.count(asked.query)
        return answer

    def summary(self, given: Given) -> dict[str, Any]:
        query, by = summary_request(given, self.runtime.now())
        return {"by": by, "groups": [_group(one, by) for one in self.storage.summary(query, by)]}

    def latest(self, what: str, where: str, given: Given, base: str) -> dict[str, Any]:
        return self._record(self._latest(what, where, given), base)

    def latest_content(self, what: str, where: str, given: Given) -> Content:
        return content_of(self._latest(what, where, given), self.lake, self.uploads)

    def metadata(self, id: str) -> dict[str, Any]:
        return metadata_of(self._entry(id))

    def content(self, id: str) -> Content:
        return content_of(self._entry(id), self.lake, self.uploads)

    def _latest(self, what: str, where: str, given: Given) -> Entry:
        since = lookback_since(given, self.runtime.now())
        found = self.storage.latest(from_slug(where), from_slug(what), since)
        if found is None:
            message = f"no {what[:100]!r} files from {where[:100]!r} within the lookback"
            raise Problem(404, "NoSuchFile", message)
        return found

    def _entry(self, id: str) -> Entry:
        found = self.storage.by_id(id)
        if found is None:
            raise no_such_file(id)
        return found

    def _record(self, entry: Entry, base: str) -> dict[str, Any]:
        lake_url = "" if self.lake is None else self.lake.store.url
        return record_of(entry, f"{base}/v0/archive/files/{quoted(entry.id)}/data", lake_url)


def quoted(id: str) -> str:
    """An id as part of a path."""
    return quote(id, safe="", errors="surrogatepass")


def _group(tally: Tally, by: By) -> dict[str, Any]:
    return {
        **_names(tally.key, by),
        "files": tally.files,
        "records": tally.records,
        "bytes": tally.bytes,
        "start": to_ms(tally.start),
        "end": to_ms(tally.end),
    }


def _names(key: tuple[str, ...], by: By) -> dict[str, str | None]:
    if by == "day":
        return {"day": key[0]}
    tap, other = key
    if by == "stream":
        return {"where": to_slug(tap), "what": to_slug(other)}
    return {"where": to_slug(tap), "work_id": to_slug(other) if other else None}
