"""The documents for people and tools: catalogue, lake document, lock record, and refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from singer_sdk.singerlib import Catalog

from singerlake.errors import CorruptDocument, UnsupportedFormat
from singerlake.format import catalogue, document, lake_document, lock_record, manifest
from singerlake.format.lock_record import LockRecord
from singerlake.format.origin import Origin
from singerlake.format.schema import Schema
from tests.format.made import EPOCH, json_objects, json_values, moments, names

ORDERS = Schema(
    {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "amount": {"type": ["null", "number"], "maximum": 2**70},
            "Größe": {"type": "string"},
        },
    },
    ("id",),
)

DECODERS: list[tuple[str, Callable[[bytes, str], Any]]] = [
    (catalogue.KIND, catalogue.decode),
    (lake_document.KIND, lake_document.decode),
    (manifest.KIND, manifest.decode),
    (manifest.SEGMENT_KIND, manifest.decode_segment),
]
decoders = pytest.mark.parametrize(("kind", "decode"), DECODERS, ids=[kind for kind, _ in DECODERS])


@decoders
def test_a_document_of_the_future_says_to_upgrade(
    kind: str, decode: Callable[[bytes, str], Any]
) -> None:
    data = json.dumps({"format": kind, "format_version": 2, "new": True}).encode()
    with pytest.raises(UnsupportedFormat, match=r"^here: format version 2 .*pip install -U"):
        decode(data, "here")


@decoders
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe",
        b"\0" * 100,
        b"[" * 100_000,
        b'{"format_version":1}',
        b'{"format":"KIND"}',
        b'{"format":"KIND","format_version":"1"}',
        b'{"format":"KIND","format_version":null}',
        b'{"format":"KIND","format_version":1',
    ],
    ids=range(13),
)
def test_a_corrupt_document_says_to_rebuild(
    kind: str, decode: Callable[[bytes, str], Any], data: bytes
) -> None:
    with pytest.raises(CorruptDocument, match=rf"^here: expected a {kind} .*singerlake rebuild"):
        decode(data.replace(b"KIND", kind.encode()), "here")


@pytest.mark.parametrize("decode", [catalogue.decode, lake_document.decode])
def test_a_number_that_python_cannot_read_is_corrupt(decode: Callable[[bytes, str], Any]) -> None:
    with pytest.raises(CorruptDocument, match="rebuild"):
        decode(b'{"format_version":%s}' % (b"9" * 5000), "here")


@decoders
def test_a_document_of_another_kind_is_refused(
    kind: str, decode: Callable[[bytes, str], Any]
) -> None:
    others = [other for other, _ in DECODERS if other != kind] + ["delta.log"]
    for other in others:
        data = json.dumps({"format": other, "format_version": 1}).encode()
        with pytest.raises(CorruptDocument, match=f"found a document of format '{other}'"):
            decode(data, "here")


@given(names, json_objects, st.lists(st.text(max_size=6), max_size=2))
def test_a_catalogue_comes_back_from_its_bytes(
    stream: str, schema: dict[str, Any], keys: list[str]
) -> None:
    entry = catalogue.entry(stream, Schema(schema, keys))
    data = catalogue.encode("tap", [entry])
    # Two surrogates side by side are one character once they are JSON.
    name = json.loads(json.dumps(stream))
    expected = {**entry, "tap_stream_id": name, "stream": name}
    assert catalogue.decode(data, "here") == {name: expected}
    assert catalogue.schema_hash(entry) == Schema(schema, keys).hash()


def test_the_catalogue_is_a_singer_catalog() -> None:
    entries = [catalogue.entry("orders", ORDERS), catalogue.entry("a/b", Schema({}))]
    data = catalogue.encode("tap", entries)
    catalog = Catalog.from_dict(json.loads(data))
    assert [entry.tap_stream_id for entry in catalog.streams] == ["a/b", "orders"]
    orders = catalog.get_stream("orders")
    assert orders is not None
    assert orders.key_properties == ["id"]
    assert orders.schema.to_dict()["properties"].keys() == ORDERS.schema["properties"].keys()
    assert orders.metadata.root.table_key_properties == ["id"]
    assert orders.metadata[("properties", "id")].inclusion == "automatic"
    assert orders.metadata[("properties", "amount")].inclusion == "available"
    selected = orders.metadata.resolve_selection()
    assert all(selected[("properties", name)] for name in ORDERS.schema["properties"])


def test_the_order_in_which_streams_came_does_not_change_the_catalogue() -> None:
    one, two = catalogue.entry("one", ORDERS), catalogue.entry("two", ORDERS)
    assert catalogue.encode("tap", [one, two]) == catalogue.encode("tap", [two, one])


def test_a_catalogue_holds_big_integers_and_any_text_as_they_are() -> None:
    data = catalogue.encode("tap", [catalogue.entry("orders", ORDERS)])
    assert str(2**70).encode() in data
    assert '"Größe"'.encode() in data
    entry = catalogue.decode(data, "here")["orders"]
    assert Schema(entry["schema"], entry["key_properties"]).hash() == ORDERS.hash()


@pytest.mark.parametrize(
    "streams",
    [
        None,
        {},
        ["orders"],
        [{"schema": {}}],
        [{"tap_stream_id": 5, "schema": {}}],
        [{"tap_stream_id": "s"}],
        [{"tap_stream_id": "s", "schema": []}],
        [{"tap_stream_id": "s", "schema": {}, "metadata": {}}],
        [{"tap_stream_id": "s", "schema": {}, "metadata": ["x"]}],
        [{"tap_stream_id": "s", "schema": {}, "metadata": [{"breadcrumb": [], "metadata": 1}]}],
        [{"tap_stream_id": "s", "schema": {}, "key_properties": "id"}],
        [{"tap_stream_id": "s", "schema": {}, "key_properties": [1]}],
    ],
)
def test_a_catalogue_with_a_wrong_entry_is_corrupt(streams: Any) -> None:
    body = {"format": catalogue.KIND, "format_version": 1, "streams": streams}
    with pytest.raises(CorruptDocument, match=r"^here: .*rebuild"):
        catalogue.decode(json.dumps(body).encode(), "here")


@pytest.mark.parametrize(
    "metadata", [[], [{"breadcrumb": []}], [{"metadata": {}}], [{"breadcrumb": ["properties"]}]]
)
def test_an_entry_that_does_not_say_its_hash_has_none(metadata: list[Any]) -> None:
    body = {"tap_stream_id": "s", "schema": {}, "metadata": metadata}
    data = catalogue.encode("tap", [body])
    assert catalogue.schema_hash(catalogue.decode(data, "here")["s"]) == ""


@given(json_objects, st.dictionaries(names, json_objects, max_size=3), st.lists(names, max_size=3))
def test_what_people_wrote_is_kept_in_its_order(
    theirs: dict[str, Any], taps: dict[str, Any], added: list[str]
) -> None:
    body = {**lake_document.new("id", EPOCH), "taps": taps, **theirs}
    if not isinstance(body["taps"], dict):
        return
    before = json.dumps(body)
    changed = lake_document.with_taps(body, added)
    assert json.dumps(body) == before
    assert list(changed) == list(body)
    assert {key: changed[key] for key in body if key != "taps"} == {
        key: body[key] for key in body if key != "taps"
    }
    assert list(changed["taps"])[: len(taps)] == list(taps)
    for tap_id, entry in taps.items():
        assert json.dumps(changed["taps"][tap_id]) == json.dumps(entry)
    for tap_id in set(added) - taps.keys():
        assert changed["taps"][tap_id] == lake_document.ANNOTATIONS
    assert lake_document.with_taps(changed, added) == changed


@given(st.dictionaries(st.text(max_size=6), json_values, max_size=3))
def test_the_lake_document_comes_back_from_its_bytes(annotations: dict[str, Any]) -> None:
    body = lake_document.with_taps(lake_document.new("id", EPOCH), ["tap"])
    body["taps"]["tap"].update(annotations)
    body["taps"]["tap"]["zz"] = "last"
    data = lake_document.encode(body)
    read = lake_document.decode(data, "here")
    assert json.dumps(read) == json.dumps(body)
    assert lake_document.encode(read) == data


def test_what_people_wrote_stays_readable() -> None:
    body = lake_document.with_taps(lake_document.new("id", EPOCH), ["tap"])
    body["taps"]["tap"]["owner"] = "Jürgen Groß 🌊"
    assert '"owner": "Jürgen Groß 🌊"'.encode() in lake_document.encode(body)


def test_new_taps_do_not_share_their_tags() -> None:
    body = lake_document.with_taps(lake_document.new("id", EPOCH), ["one", "two"])
    body["taps"]["one"]["tags"]["team"] = "sales"
    assert body["taps"]["two"]["tags"] == {}
    assert lake_document.ANNOTATIONS["tags"] == {}


@pytest.mark.parametrize(
    "change", [{"taps": []}, {"taps": {"tap": "x"}}, {"taps": None}, {"lake_id": 5}]
)
def test_a_lake_document_with_a_wrong_field_is_corrupt(change: dict[str, Any]) -> None:
    body = {**lake_document.new("id", EPOCH), **change}
    with pytest.raises(CorruptDocument, match=r"^here: .*rebuild"):
        lake_document.decode(json.dumps(body).encode(), "here")


@given(st.text(max_size=12), moments, moments)
def test_a_lock_record_comes_back_from_its_bytes(writer: str, acquired: Any, now: Any) -> None:
    record = LockRecord(writer, acquired, now)
    data = lock_record.encode(record)
    assert lock_record.decode(data, "here") == record
    assert list(json.loads(data)) == ["writer-id", "acquired", "refreshed"]


@given(st.text(max_size=12), moments, moments)
def test_every_refresh_changes_the_bytes_of_a_lock(writer: str, one: Any, other: Any) -> None:
    records = [lock_record.encode(LockRecord(writer, EPOCH, moment)) for moment in (one, other)]
    assert (records[0] == records[1]) == (one == other)


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"writer-id":"w"}', b"[" * 100_000])
def test_a_corrupt_lock_says_what_to_do(data: bytes) -> None:
    with pytest.raises(CorruptDocument, match=r"^here: .*check --fix"):
        lock_record.decode(data, "here")


@given(names, names, st.integers(0, 10**12))
def test_an_origin_comes_back_from_its_text(writer: str, run: str, number: int) -> None:
    origin = Origin(writer, run, number)
    text = str(origin)
    assert Origin.parse(text) == origin
    text.encode("latin-1")
    assert "\0" not in text


@pytest.mark.parametrize("text", ["", "orders.singer", "a/b", "a/b/c", "a/b/1/2", "a b/c/1"])
def test_another_tools_file_name_is_no_origin(text: str) -> None:
    assert Origin.parse(text) is None


def test_documents_end_with_a_line_feed() -> None:
    for data in (
        document.encode({"a": 1}),
        document.encode_object({"a": 1}),
        lock_record.encode(LockRecord("w", EPOCH, EPOCH)),
    ):
        assert data.endswith(b"}\n")


FIRST_READ_BY_MANY_THREADS = """
import sys, threading
from datetime import datetime, timezone
from singerlake.format import document, lock_record, manifest
now = datetime(2026, 1, 2, tzinfo=timezone.utc)
commit = manifest.Commit(id="a", time=now, writer_id="w")
stored = [
    (manifest.decode, document.encode(manifest.Manifest(
        tap_id="t", stream="s", log_id="l", commit=commit))),
    (manifest.decode_segment, document.encode(manifest.SegmentContent(files=(manifest.File(
        path="p", sequence=1, records=1, bytes=1, raw_bytes=1, first=now, last=now, checksum="c",
        committed=now),)))),
    (lock_record.decode, lock_record.encode(lock_record.LockRecord("w", now, now))),
]
together = threading.Barrier(16)
def read():
    together.wait()
    for decode, data in stored:
        decode(data, "here")
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=read) for _ in range(16)]
for each in threads: each.start()
for each in threads: each.join()
"""


def test_threads_that_read_the_first_document_together_do_not_crash() -> None:
    """Only a fresh process has a first time; one alone crashed two times in five."""
    for _ in range(12):
        subprocess.run([sys.executable, "-c", FIRST_READ_BY_MANY_THREADS], check=True)
