"""Lakes to make sites of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from singerlake.format import catalogue, lake_document
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Commit, File, Manifest, Version
from singerlake.format.schema import Schema
from singerlake.lake import Lake, clock, open_on
from singerlake.store import MemoryStore
from tests.lake.landing import edit, new_store, objects_in

TAP = "tap-shop--sample"
OTHER_TAP = "tap-github--meltanolabs"
HOSTILE_TAP = "../<script>window.hacked=1</script>--evil"

SCRIPT = "<script>window.hacked=1</script>"
IMAGE = "\"'><img src=x onerror=window.hacked=1>"

HOSTILE_STREAMS = ("..", "a/b", SCRIPT, "nul\0byte", "right\u202eleft", "{{ 7 * 7 }}", "Empty")
TOO_LONG = "long" * 75
"""More than a path can hold: only a catalogue that was edited by hand names it."""

DAYS = (5, 0, 12, 3, 0, 0, 8)
"""The records of `orders` that arrive on each day of a week, up to today."""

NULLABLE = {"type": ["null", "string"]}
VERSIONS: Sequence[Mapping[str, Any]] = (
    {"id": {"type": "integer"}, "note": NULLABLE},
    {"id": {"type": "integer"}, "note": NULLABLE, "total": {"type": "number"}},
    {
        "id": {"type": "integer", "description": f"The number {IMAGE}"},
        "total": {"type": ["null", "string"], "format": "singer.decimal"},
        "address": {"type": "object", "properties": {"city": NULLABLE, SCRIPT: NULLABLE}},
        "status": {"enum": ["open", IMAGE]},
    },
)


def land(
    lake: Lake,
    stream: str,
    properties: Mapping[str, Any],
    records: int,
    tap: str = TAP,
    description: str = "",
) -> None:
    """One commit by a writer of its own."""
    schema = {"type": "object", "properties": properties, "description": description}
    message = {"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": ["id"]}
    with lake.writer(tap) as writer:
        writer.write(json.dumps(message).encode())
        for number in range(records):
            record = {"type": "RECORD", "stream": stream, "record": {"id": number}}
            writer.write(json.dumps(record).encode())


def shop(monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Two taps, three versions, names and notes that mean harm, and damage."""
    store = new_store()
    lake = open_on(store, create=True)
    today = clock.now()
    for number, records in enumerate(DAYS):
        then = today - timedelta(days=len(DAYS) - 1 - number)
        monkeypatch.setattr(clock, "now", lambda then=then: then)
        if records:
            version = VERSIONS[number * len(VERSIONS) // len(DAYS)]
            land(lake, "orders", version, records, description=f"Every order {IMAGE}")
    monkeypatch.setattr(clock, "now", lambda: today)
    for name in HOSTILE_STREAMS:
        land(lake, name, {"id": {"type": "integer"}, SCRIPT: NULLABLE}, 1)
    for name in ("damaged", "listed", "lost"):
        land(lake, name, {"id": {"type": "integer"}}, 2)
    land(lake, "empty", {"id": {"type": "integer"}}, 0)
    land(lake, "orders", {"id": {"type": "integer"}}, 1, HOSTILE_TAP)
    land(lake, "issues", {"id": {"type": "integer"}, "title": NULLABLE}, 4, OTHER_TAP)
    _annotate(store)
    _damage(store)
    return lake


def _annotate(store: MemoryStore) -> None:
    def write(body: Any) -> None:
        body["taps"][TAP] |= {
            "owner": "mailto:shop@example.org",
            "description": f"The shop {SCRIPT}",
            "documentation": "https://example.org/shop",
            "job": "javascript:window.hacked=1",
            "tags": {"tier": "gold", SCRIPT: IMAGE, "more": " data:text/html,<script>"},
            "numbers": [1, {"two": None}],
        }

    edit(store, key_names.LAKE_DOCUMENT, write)


def _damage(store: MemoryStore) -> None:
    def add_name(body: Any) -> None:
        entry = next(one for one in body["streams"] if one["tap_stream_id"] == "empty")
        body["streams"].append({**entry, "tap_stream_id": TOO_LONG, "stream": TOO_LONG})

    edit(store, key_names.catalogue(TAP), add_name)
    damaged = StreamKeys(TAP, "damaged").manifest
    store.delete(damaged)
    store.create(damaged, b"no manifest")
    store.delete(StreamKeys(TAP, "listed").manifest)
    store.delete(next(key for key in objects_in(store, ".singer.gz") if "/lost/" in key))


def large(streams: int, properties: int) -> Lake:
    """A tap with many streams, written without landing them one by one."""
    store = new_store()
    moment = datetime(2026, 11, 1, 8, tzinfo=timezone.utc)
    commit = Commit(id="1", time=moment, writer_id="test")
    entries = []
    for name, schema in _schemas(streams, properties):
        entries.append(catalogue.entry(name, schema))
        hashed = catalogue.schema_hash(entries[-1])
        path = f"{hashed}/{name}-20261101T080000.000000Z-20261101T080000.000000Z.singer.gz"
        file = File(
            path=path,
            sequence=1,
            records=10,
            bytes=1000,
            raw_bytes=5000,
            first=moment,
            last=moment,
            checksum="",
            committed=moment,
        )
        manifest = Manifest(
            tap_id=TAP,
            stream=name,
            log_id="1",
            commit=commit,
            last_sequence=1,
            versions={hashed: Version(version=1, first_seen=moment, digest=schema.digest())},
            files=(file,),
        )
        store.create(StreamKeys(TAP, name).manifest, msgspec.json.encode(manifest))
    store.create(key_names.catalogue(TAP), catalogue.encode(TAP, entries))
    body = lake_document.with_taps(lake_document.new("1", moment), [TAP])
    store.create(key_names.LAKE_DOCUMENT, lake_document.encode(body))
    return Lake(store)


def _schemas(streams: int, properties: int) -> Iterable[tuple[str, Schema]]:
    for number in range(streams):
        names = ["id", *(f"column_{number}_{one}" for one in range(properties - 1))]
        inside = {name: {"type": ["null", "string"]} for name in names}
        yield f"table_{number:04}", Schema({"type": "object", "properties": inside}, ("id",))
