"""What a tap sent is what a reader gets: byte for byte, in order, once, whatever it was."""

from __future__ import annotations

import bz2
import gzip
import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake import Lake, WriterOptions, check, open_lake, rebuild
from singerlake.errors import BadMessage
from singerlake.format import manifest as manifests
from singerlake.format import message
from singerlake.format.keys import StreamKeys
from singerlake.format.schema import Schema
from singerlake.lake import Selection, clock, open_on, spool
from singerlake.lake import writer as writers
from singerlake.store import MemoryStore
from tests.format.made import EPOCH, json_objects, record_line, schema_line

TAP = "tap-test--tests"
STREAMS = ["orders", "a/b", "Größe"]

# Each is one schema, spelt as taps may spell it.
SCHEMAS = [
    b'"schema":{"properties":{"id":{"type":"integer"}}},"key_properties":["id"]',
    b'"key_properties": ["id"], "schema": {"properties": {"id": {"type": "integer"}}}',
    b'"schema":{"maximum":123456789012345678901234567890},"key_properties":[]',
    b'"schema":{"title":"Gr\\u00f6\\u00dfe"},"key_properties":[]',
]
RECORDS = [
    b"{}",
    b'{"id":1}',
    b'{ "id" : 1 , "z" : null , "a" : true }',
    b'{"big":123456789012345678901234567890,"precise":0.10000000000000000555111512312578270211}',
    b'{"zeros":1.1000,"exponent":1E400,"minus":-0.0,"small":1e-400}',
    b'{"nan":NaN,"far":Infinity,"near":-Infinity}',
    b'{"same":1,"same":2,"same":"three"}',
    b'{"escapes":"\\u00e9\\/\\"\\\\\\n\\ud83c\\udf0a","lone":"\\ud800","brace":"}}","nul":"\\u0000"}',
    '{"Größe":"日本語 🌊 \u2028\u2029\x85\x7f"}'.encode(),
    b'{"deep":[[[{"a":[{}]}]]]}',
    b'{"time_extracted":"inside"}',
]
TIMES = [
    b'"time_extracted":"2026-01-01T00:00:00Z"',
    b'"time_extracted": "2026-01-01T00:00:00.5+00:00"',
    b'"time_extracted":"2025-12-31T23:59:59.999999999-08:00"',
    b'"time_extracted":"2026-01-01 05:00:00"',
]


@dataclass(frozen=True)
class Sent:
    """A line as a tap sends it, and the line that has to be stored (None: none of its own)."""

    stream: str
    line: bytes
    stored: bytes | None = None


def spliced(line: bytes) -> bytes:
    """What a RECORD without a time becomes, by the letter of the spec."""
    end = line.rindex(b"}")
    return line[:end] + b',"time_extracted":"2026-01-01T00:00:00.000000Z"' + line[end:]


def make_record(stream: str, record: bytes, time: bytes, order: bool, end: bytes) -> Sent:
    name = json.dumps(stream).encode()
    parts = [b'"type":"RECORD"', b'"stream": %s' % name, b'"record":%s' % record]
    if time:
        parts.append(time)
    line = b"{%s}%s" % (b",".join(parts if order else reversed(parts)), end)
    return Sent(stream, line, line if time else spliced(line))


def make_schema(stream: str, schema: bytes, end: bytes) -> Sent:
    name = json.dumps(stream).encode()
    return Sent(stream, b'{"type":"SCHEMA","stream":%s,%s}%s' % (name, schema, end))


def make_version(stream: str, end: bytes) -> Sent:
    name = json.dumps(stream, ensure_ascii=False).encode()
    line = b'{"type":"ACTIVATE_VERSION","stream":%s,"version":7}%s' % (name, end)
    return Sent(stream, line, line)


streams = st.sampled_from(STREAMS)
ends = st.sampled_from([b"", b"\r", b" "])
contents = st.sampled_from(RECORDS) | json_objects.map(lambda body: json.dumps(body).encode())
messages = st.one_of(
    st.builds(make_record, streams, contents, st.sampled_from([b"", *TIMES]), st.booleans(), ends),
    st.builds(make_record, streams, contents, st.sampled_from(TIMES), st.booleans(), ends),
    st.builds(make_schema, streams, st.sampled_from(SCHEMAS), ends),
    st.builds(make_version, streams, ends),
    st.just(Sent("", b"")),
    st.just(Sent("", b" \t\r")),
)
syncs = st.lists(messages, max_size=30).map(
    lambda sent: [make_schema(stream, SCHEMAS[0], b"") for stream in STREAMS] + sent
)


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: EPOCH)


@contextmanager
def tiny_buffers() -> Iterator[None]:
    """Every few lines a member of their own, and every file on the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writers, "CHUNK", 200)
        patch.setattr(writers, "BUFFERED", 400)
        patch.setattr(spool, "IN_MEMORY", 64)
        yield


def memory_lake() -> Lake:
    return open_lake(f"memory://{uuid.uuid4().hex}", create=True)


def land(lake: Lake, sent: Iterable[Sent], options: WriterOptions | None = None) -> None:
    *first, last = [item.line + b"\n" for item in sent]
    with lake.writer(TAP, options=options) as writer:
        for line in [*first, last.removesuffix(b"\n")]:
            writer.write(line)


def expected(sent: Iterable[Sent]) -> dict[str, list[tuple[bytes, bytes]]]:
    """Each stream's stored lines, each with the canonical text of the schema it came under."""
    schemas: dict[str, bytes] = {}
    found: dict[str, list[tuple[bytes, bytes]]] = {}
    for item in sent:
        if item.stored is not None:
            found[item.stream].append((schemas[item.stream], item.stored))
        elif item.stream:
            schemas[item.stream] = message.decode_schema(item.line).canonical()
            found.setdefault(item.stream, [])
    return found


def received(lake: Lake) -> dict[str, list[tuple[bytes, bytes]]]:
    """The same from the lake, its files decompressed by Python's own gzip."""
    found = {}
    for stream in lake.tap(TAP).streams():
        snapshot = stream.snapshot()
        rows = []
        for file in snapshot.files():
            lines = list(snapshot.lines(file))
            raw = lake.store.read(snapshot.keys.under(file.path)).data
            assert gzip.decompress(raw) == b"".join(line + b"\n" for line in lines)
            schema = message.decode_schema(lines[0])
            assert schema.hash() == file.schema_hash
            rows += [(schema.canonical(), line) for line in lines[1:]]
        found[stream.name] = rows
    return found


def require_clean(lake: Lake) -> None:
    assert check(lake.store).findings == []


def require_same(lake: Lake, sent: list[Sent]) -> None:
    assert received(lake) == expected(sent)
    require_clean(lake)


@given(syncs)
@settings(max_examples=60)
def test_any_sync_is_read_back_byte_for_byte(sent: list[Sent]) -> None:
    lake = memory_lake()
    land(lake, sent)
    require_same(lake, sent)


@given(syncs, st.integers(1, 5), st.sampled_from([1, 3, 4, 9]))
@settings(max_examples=40)
def test_any_sync_is_read_back_from_many_small_files_and_members(
    sent: list[Sent], most: int, level: int
) -> None:
    lake = memory_lake()
    with tiny_buffers(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifests, "FAN_OUT", 2)
        land(lake, sent, WriterOptions(max_file_records=most, compression_level=level))
        require_same(lake, sent)
    for stream in expected(sent):
        sequences = [file.sequence for file in lake.stream(TAP, stream).snapshot().files()]
        assert sequences == list(range(1, len(sequences) + 1))


@given(st.lists(syncs, min_size=2, max_size=3))
@settings(max_examples=15)
def test_syncs_one_after_the_other_are_read_back_in_order(runs: list[list[Sent]]) -> None:
    lake = memory_lake()
    for sent in runs:
        land(lake, sent)
    require_same(lake, [item for sent in runs for item in sent])


@given(sent=syncs)
@settings(max_examples=5)
def test_any_sync_is_read_back_from_a_local_folder(
    tmp_path_factory: pytest.TempPathFactory, sent: list[Sent]
) -> None:
    lake = open_lake(tmp_path_factory.mktemp("lake"), create=True)
    with tiny_buffers():
        land(lake, sent)
    require_same(lake, sent)


@given(
    st.lists(contents, min_size=1, max_size=6),
    st.lists(st.sampled_from([b"", *TIMES]), min_size=1, max_size=3),
    st.sampled_from([b"\n", b"\r\n", b" \n", b"\n\n"]),
    st.booleans(),
)
@settings(max_examples=60)
def test_a_block_is_stored_as_its_lines_would_be(
    bodies: list[bytes], times: list[bytes], end: bytes, has_final_feed: bool
) -> None:
    carried = end.rstrip(b"\n")
    sent = [make_schema("orders", SCHEMAS[0], b"")]
    for number, body in enumerate(bodies):
        sent.append(make_record("orders", body, times[number % len(times)], True, carried))
    block = b"".join(item.line + end.removeprefix(carried) for item in sent[1:])
    if not has_final_feed:
        block = block.rstrip(b"\n")
    lake = memory_lake()
    with lake.writer(TAP) as writer:
        writer.write(sent[0].line)
        taken = writer.append_records("orders", block)
        assert taken in (None, len(bodies))
        if taken is None:
            for line in block.split(b"\n"):
                writer.write(line)
    require_same(lake, sent)


@pytest.mark.parametrize("time", [b"", TIMES[0]])
def test_a_record_of_ten_megabytes_is_read_back(time: bytes) -> None:
    big = b'{"text":"%s","n":1.10}' % (b"x\\u00e9 " * 1_500_000)
    sent = [
        make_schema("orders", SCHEMAS[0], b""),
        make_record("orders", b"{}", time, True, b""),
        make_record("orders", big, time, True, b"\r"),
        make_record("orders", b"{}", time, True, b""),
    ]
    assert len(sent[2].line) > 10 * 2**20
    lake = memory_lake()
    land(lake, sent)
    assert received(lake) == expected(sent)
    require_clean(lake)


def test_a_schema_that_changes_and_changes_back_starts_a_file_each_time() -> None:
    record = make_record("orders", b"{}", TIMES[0], True, b"")
    sent = []
    for schema in (SCHEMAS[0], SCHEMAS[2], SCHEMAS[0], SCHEMAS[1], SCHEMAS[3]):
        sent += [make_schema("orders", schema, b""), record]
    lake = memory_lake()
    land(lake, sent)
    require_same(lake, sent)
    snapshot = lake.stream(TAP, "orders").snapshot()
    # The third and the fourth spell one schema, so they share a file.
    assert [file.records for file in snapshot.files()] == [1, 1, 2, 1]
    hashes = [file.schema_hash for file in snapshot.files()]
    assert hashes[0] == hashes[2]
    versions = [snapshot.manifest.versions[known].version for known in hashes]
    assert versions == [1, 2, 1, 3]


def test_files_are_closed_at_the_number_of_records_that_was_asked_for() -> None:
    sent = [make_schema("orders", SCHEMAS[0], b"")]
    sent += [make_record("orders", b'{"id":%d}' % n, TIMES[0], True, b"") for n in range(10)]
    lake = memory_lake()
    land(lake, sent, WriterOptions(max_file_records=3))
    require_same(lake, sent)
    assert [file.records for file in lake.stream(TAP, "orders").snapshot().files()] == [3, 3, 3, 1]


def test_many_streams_side_by_side_are_read_back() -> None:
    names = [f"stream {number}" for number in range(300)]
    sent = [make_schema(name, SCHEMAS[0], b"") for name in names]
    for turn in range(6):
        body = b'{"turn":%d}' % turn
        sent += [make_record(name, body, TIMES[turn % 4], True, b"") for name in names]
    lake = memory_lake()
    with tiny_buffers():
        land(lake, sent)
    require_same(lake, sent)


def test_what_is_not_for_the_lake_is_handed_back_and_not_stored() -> None:
    lake = memory_lake()
    with lake.writer(TAP) as writer:
        writer.write(schema_line("orders"))
        state = writer.write(b'{"type":"STATE","value":{"a":1}}\n')
        assert state is not None
        assert state.type == "STATE"
        assert writer.write(b"\r\n") is None
        writer.write(record_line("orders"))
    assert [line for _, line in received(lake)["orders"]] == [record_line("orders")]


def test_a_message_on_two_lines_is_refused() -> None:
    lake = memory_lake()
    with lake.writer(TAP) as writer:
        writer.write(schema_line("orders"))
        with pytest.raises(BadMessage, match="line feed"):
            writer.write(record_line("orders").replace(b",", b",\n"))
        with pytest.raises(BadMessage, match="line feed"):
            writer.write(schema_line("orders").replace(b",", b",\n"))
    require_clean(lake)


def test_records_without_their_own_metadata_can_be_read() -> None:
    lake = memory_lake()
    with lake.writer(TAP) as writer:
        writer.write(schema_line("orders"))
        for record in RECORDS:
            writer.write(record_line("orders", record))
    read = list(lake.stream(TAP, "orders").snapshot().records())
    assert json.dumps(read) == json.dumps([json.loads(record) for record in RECORDS])


OLDER: dict[str, Callable[[bytes], bytes]] = {
    "orders-20260101T000010Z-20260101T000012Z.singer": lambda data: data,
    "orders-20260101T000013Z-20260101T000015Z.singer.bz2": bz2.compress,
    "orders-20260101T000016Z-20260101T000018Z.singer.gz": gzip.compress,
    "orders-20260101T000019.000000Z-20260101T000021.500000Z-0123abcd.singer.gz": gzip.compress,
}


def older_lake() -> tuple[Lake, list[bytes]]:
    """Files as other tools and earlier versions left them, and no document at all."""
    store = MemoryStore(uuid.uuid4().hex)
    schema = schema_line("orders")
    keys = StreamKeys(TAP, "orders")
    stored = []
    for number, (name, compress) in enumerate(OLDER.items()):
        records = [
            record_line("orders", b'{"id":1.10}', f"2026-01-01T00:00:{3 * number + part}Z")
            for part in (10, 12.5)
        ]
        data = b"".join(line + b"\n" for line in [schema, *records])
        schema_hash = message.decode_schema(schema).hash()
        store.create(keys.under(f"{schema_hash}/{name}"), compress(data))
        stored += records
    return open_on(store), stored


def test_files_in_older_forms_are_read_without_any_document() -> None:
    lake, stored = older_lake()
    assert [tap.tap_id for tap in lake.taps()] == [TAP]
    assert [stream.name for stream in lake.tap(TAP).streams()] == ["orders"]
    snapshot = lake.stream(TAP, "orders").snapshot()
    assert snapshot.by_listing
    lines = [line for file in snapshot.files() for line in list(snapshot.lines(file))[1:]]
    assert lines == stored


def test_a_name_in_whole_seconds_hides_no_record_of_the_second_that_it_names() -> None:
    lake, _ = older_lake()
    snapshot = lake.stream(TAP, "orders").snapshot()
    for file in snapshot.files():
        lines = list(snapshot.lines(file))[1:]
        times = [message.decode(line).time_extracted for line in lines]
        assert all(time and file.first <= time <= file.last for time in times)
        assert len(times) == 2


def test_files_in_older_forms_are_adopted_by_a_rebuild() -> None:
    lake, stored = older_lake()
    files = {row.key: lake.store.read(row.key).data for row in lake.store.list("")}
    report = rebuild(lake.store)
    assert (report.files, report.records, report.skipped) == (4, 8, [])
    require_clean(lake)
    snapshot = lake.stream(TAP, "orders").snapshot()
    assert not snapshot.by_listing
    assert [file.sequence for file in snapshot.files()] == [1, 2, 3, 4]
    lines = [line for file in snapshot.files() for line in list(snapshot.lines(file))[1:]]
    assert lines == stored
    assert {key: lake.store.read(key).data for key in files} == files
    with lake.writer(TAP) as writer:
        writer.write(schema_line("orders"))
        writer.write(record_line("orders"))
    assert [
        file.sequence for file in lake.stream(TAP, "orders").snapshot().files(Selection(since=4))
    ] == [5]
    require_clean(lake)


@pytest.mark.parametrize(
    "missing",
    [
        ["raw/singerlake.json"],
        ["catalogue.json"],
        ["manifest.json"],
        ["raw/singerlake.json", "catalogue.json", "manifest.json"],
    ],
)
def test_readers_work_where_documents_are_missing(missing: list[str]) -> None:
    lake = memory_lake()
    lines = [record_line("orders", b'{"id":%d}' % n, f"2026-01-01T00:00:0{n}Z") for n in range(5)]
    with lake.writer(TAP, options=WriterOptions(max_file_records=1)) as writer:
        for line in [schema_line("orders"), *lines]:
            writer.write(line)
    for row in list(lake.store.list("")):
        if row.key.endswith(tuple(missing)):
            lake.store.delete(row.key)
    again = open_on(lake.store)
    assert [(tap.tap_id, [s.name for s in tap.streams()]) for tap in again.taps()] == [
        (TAP, ["orders"])
    ]
    assert again.tap(TAP).catalogue()["orders"]["schema"] == json.loads(schema_line())["schema"]
    assert [record["id"] for record in again.stream(TAP, "orders").snapshot().records()] == [
        *range(5)
    ]
    rebuild(lake.store)
    require_clean(lake)


def test_a_schema_alone_makes_a_stream_in_the_catalogue_and_no_file() -> None:
    lake = memory_lake()
    with lake.writer(TAP) as writer:
        writer.write(schema_line("orders", {"type": "object"}))
    entry = lake.tap(TAP).catalogue()["orders"]
    assert Schema(entry["schema"], entry["key_properties"]).hash()
    assert not [row for row in lake.store.list("") if ".singer" in Path(row.key).suffixes]
    require_clean(lake)
