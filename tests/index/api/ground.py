"""A small lake with its index, uploads and a server, for the tests of the API.

`orders` of `tap-shop--test`: seven commits, an hour apart, in runs of three; the first four are
merged. `Big/Orders` has a name that is no slug. `many` has 250 entries and no bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from singerlake import open_lake
from singerlake.format.keys import StreamKeys
from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import Listen
from singerlake.index.api.app import index_app
from singerlake.index.api.archive import Archive
from singerlake.index.ingester import follow
from singerlake.index.open import open_index
from singerlake.index.storage.base import Storage
from singerlake.index.v0.metadata import validated
from singerlake.index.v0.upload import entry_of
from singerlake.lake import Lake
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.metrics import Metrics
from singerlake.runtime import Runtime
from singerlake.store import open_store
from tests.index.samples import entries_in, put

TAP, WHAT, ODD, MANY = "tap-shop--test", "orders", "Big/Orders", "many"
MONDAY = datetime(2026, 3, 2, tzinfo=timezone.utc)
MONDAY_MS = 1_772_409_600_000
HOUR_MS = 3_600_000
NOW = MONDAY + timedelta(days=3)
COMMITS = 7


class OnThursday(Runtime):
    """A clock that stands still."""

    def now(self) -> datetime:
        return NOW


def land(lake: Lake, stream: str, number: int, run: str) -> None:
    """Commit `number` holds two records: at its hour, and half an hour later."""
    with lake.writer(TAP, run_id=run) as writer:
        schema = {"type": "SCHEMA", "stream": stream, "schema": {"type": "object"}}
        writer.write(json.dumps(schema).encode())
        for half in (0, 1):
            time = MONDAY + timedelta(hours=number, minutes=30 * half)
            message = {
                "type": "RECORD",
                "stream": stream,
                "record": {"id": 2 * number + half},
                "time_extracted": time.isoformat(),
            }
            writer.write(json.dumps(message).encode())


def metadata(id: str, **others: Any) -> dict[str, Any]:
    """The metadata of an upload."""
    return {
        "version": 0,
        "id": id,
        "what": "syslog",
        "where": "host-1",
        "start": MONDAY_MS,
        "end": None,
        "work_id": None,
        "hash": "abc",
        "path": "/var/log/syslog",
        **others,
    }


def put_upload(storage: Storage, folder: Path, body: bytes, **given: Any) -> None:
    """As the ingester does it; the bucket is a folder."""
    found = validated(metadata(**given), NOW)
    path = folder / found["id"] / "data"
    path.parent.mkdir(parents=True)
    path.write_bytes(body)
    url = f"{open_store(folder).url}/{found['id']}/data"
    storage.put_uploads([entry_of(url, found, len(body), NOW)])


@dataclass(frozen=True)
class Ground:
    lake: Lake
    storage: Storage
    uploads: Path
    url: str

    def get(self, path: str, **params: Any) -> httpx.Response:
        query = f"?{urlencode(params)}" if params else ""
        return httpx.get(f"{self.url}{path}{query}", timeout=60)

    def files(self, **params: Any) -> Any:
        answer = self.get("/v0/archive/files/", **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def numbers(self, **params: Any) -> list[int]:
        """The sequence numbers on the first page."""
        return [one["lake"]["sequence"] for one in self.files(**params)["records"]]


def build(folder: Path, index: str | None = None) -> tuple[Lake, Storage]:
    lake = open_lake(folder / "lake", create=True)
    storage = open_index(index or f"sqlite:///{folder}/index.db")
    for number in range(COMMITS):
        land(lake, WHAT, number, f"Run/{number // 3}")
        if number == 3:
            follow(storage, lake)
            vacuum(lake.store, StreamKeys(TAP, WHAT), VacuumOptions())
    land(lake, ODD, 0, "null")
    follow(storage, lake)
    put(storage, entries_in(TAP, MANY, 250, random.Random(1)))
    return lake, storage


@contextmanager
def served(folder: Path, index: str | None = None, **kit: Any) -> Iterator[Ground]:
    lake, storage = build(folder, index)
    uploads = folder / "uploads"
    uploads.mkdir()
    archive = Archive(storage, lake, open_store(uploads), OnThursday())
    service = Service(index_app(archive), metrics=Metrics.create(process=False), **kit)
    with serving(service, Listen()) as url:
        yield Ground(lake, storage, uploads, url)
    storage.close()
