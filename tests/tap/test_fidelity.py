"""What comes out is what was landed: bytes where nothing has to change, values where it has."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import redirect_stdout
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.lake.checking import check
from tap_singerlake.content import without_blank_lines
from tap_singerlake.tap import TapSingerlake
from target_singerlake.target import TargetSingerlake
from tests.tap.replay import (
    STREAM,
    TAP_ID,
    activate,
    config,
    deselect,
    discover,
    files,
    lake,
    land,
    new_root,
    properties,
    record,
    replay,
    schema,
    stream_keys,
)

pytestmark = pytest.mark.usefixtures("door")

A, B = schema(), schema(properties("name", "colour"))

ODD_LINES = [
    b'{"type": "RECORD",  "stream":"orders", "record" : {"id":1,"name":"\xc3\xa4 \\u00e4"},'
    b' "time_extracted": "2026-03-01T10:00:00Z" }',
    b'{"time_extracted":"2026-03-01T12:00:00.123456+02:00","record":{"name":null,"id":2},'
    b'"stream":"orders","type":"RECORD","version":1700000000000}',
    b'{"type":"RECORD","stream":"orders","record":{"id":1E+2,"name":"1.10000000000000000001"},'
    b'"time_extracted":"2026-03-01T10:00:01Z","x-of-its-own":[1,{}]}',
    b'{"type":"ACTIVATE_VERSION","stream":"orders","version":1700000000000}',
    b'{"type":"RECORD","stream":"orders","record":{"id":4,"name":"\\ud83d\\ude00","name":"twice"},'
    b'"time_extracted":"2026-03-01T10:00:01Z"}',
]


def test_lines_come_out_byte_for_byte() -> None:
    root = new_root()
    odd = schema(
        {"id": {"type": "integer", "x-unit": "pieces"}, "name": {"examples": ["x"]}},
        bookmark_properties=["id"],
    )
    land(root, [odd, *ODD_LINES])
    assert replay(config(root)).data == [odd, *ODD_LINES]


def test_a_file_of_many_blocks_comes_out_byte_for_byte() -> None:
    root = new_root()
    lines = [record(number % 3000, name="x" * (number % 997)) for number in range(5000)]
    land(root, [A, *lines])
    assert replay(config(root)).data == [A, *lines]


BLANK = [b"", b" ", b"\r", b"\t \r", b"\x0b\x0c"]


def put_foreign(root: str, content: bytes) -> None:
    """A file that another tool left beside the first one."""
    folder = files(root)[0].schema_hash
    key = stream_keys().under(f"{folder}/{STREAM}-20260301T100001Z-20260301T105959Z.singer.gz")
    lake(root).store.create(key, gzip.compress(content))


@pytest.mark.parametrize("adopted", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        A + b"\n\n" + record(1) + b"\n \n" + record(2) + b"\r\n\r\n",
        A + b"\r\n\r\n \t\n" + record(1) + b"\n" + record(2) + b"\r\n \x0b\x0c",
        b"\n" + A + b"\n" + record(1) + b"\n\n\n" + record(2) + b"\r",
        A + b"\n \n" + b" \n" * 400_000 + record(1) + b"\n" + record(2) + b"\r\n",
    ],
)
def test_blank_lines_of_a_foreign_file_do_not_come_out(content: bytes, adopted: bool) -> None:
    root = new_root()
    land(root, [A, record(0)])
    put_foreign(root, content)
    if adopted:
        assert check(lake(root).store, fix=True).findings
    else:
        lake(root).store.delete(stream_keys().manifest)
    printed = replay(config(root)).raw.removesuffix(b"\n").split(b"\n")
    assert all(line.strip() for line in printed)
    data = [line for line in printed if json.loads(line)["type"] != "STATE"]
    assert data == [A, record(0), record(1), record(2) + b"\r"]


def test_blank_lines_at_the_edges_of_blocks_do_not_come_out() -> None:
    root = new_root()
    land(root, [A, record(0)])
    lines = [b" " + record(number % 3000, name="x" * (number % 97)) for number in range(5000)]
    mixed = [part for at, line in enumerate(lines) for part in (line, BLANK[at % 5])]
    put_foreign(root, b"\n".join([A, *mixed]))
    check(lake(root).store, fix=True)
    assert replay(config(root)).data == [A, record(0), *lines]


@given(st.lists(st.sampled_from([*BLANK, b"{}", b" {}", b"{}\r", b"{ }\t"])), st.booleans())
def test_a_block_keeps_every_line_that_is_not_blank(lines: list[bytes], ends: bool) -> None:
    block = b"\n".join(lines) + (b"\n" if ends else b"")
    kept = [line for line in lines if line.strip()]
    assert without_blank_lines(block).removesuffix(b"\n") == b"\n".join(kept)


def test_text_output_gets_the_same_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Where standard output is text only, as when a test replaces it."""
    root = new_root()
    land(root, [A, *ODD_LINES])
    text = io.StringIO()
    with redirect_stdout(text):
        TapSingerlake(config=config(root)).sync_all()
    assert text.getvalue().encode().splitlines()[:-1] == [A, *ODD_LINES]


def test_activate_version_stays_in_its_place_on_both_paths() -> None:
    root = new_root()
    land(root, [A, record(1), activate(1), record(2), activate(2)], [A, activate(3), record(3)])
    expected = ["SCHEMA", "RECORD", "ACTIVATE_VERSION", "RECORD", "ACTIVATE_VERSION"]
    expected += ["STATE", "ACTIVATE_VERSION", "RECORD", "STATE"]
    for printed in (
        replay(config(root)),
        replay(config(root), catalog=deselect(discover(config(root)), "name")),
    ):
        assert printed.kinds == expected
        assert [m["version"] for m in printed.of("ACTIVATE_VERSION")] == [1, 2, 3]


def test_a_file_of_activate_version_alone() -> None:
    root = new_root()
    land(root, [A, record(1)], [A, activate(5)])
    printed = replay(config(root))
    assert printed.kinds == ["SCHEMA", "RECORD", "STATE", "ACTIVATE_VERSION", "STATE"]


def test_time_and_version_are_those_that_were_landed_on_both_paths() -> None:
    root = new_root()
    land(root, [A, *ODD_LINES])
    whole = replay(config(root)).of("RECORD")
    built = replay(config(root), catalog=deselect(discover(config(root)), "name")).of("RECORD")
    assert [row.get("version") for row in whole] == [None, 1700000000000, None, None]
    assert [row.get("version") for row in built] == [None, 1700000000000, None, None]
    assert [row["time_extracted"] for row in whole][1] == "2026-03-01T12:00:00.123456+02:00"
    assert [row["time_extracted"] for row in built][1] == "2026-03-01T10:00:00.123456+00:00"


@pytest.mark.parametrize("deselected", [False, True])
def test_a_schema_at_each_change_and_back(deselected: bool) -> None:
    root = new_root()
    land(root, [A, record(1), B, record(2, name="b", colour="red"), A, record(3)])
    catalog = discover(config(root))
    if deselected:
        deselect(catalog, "name")
    printed = replay(config(root), catalog=catalog)
    fields = [message["schema"]["properties"].keys() - {"name"} for message in printed.of("SCHEMA")]
    assert fields == [{"id"}, {"id", "colour"}, {"id"}]
    assert printed.numbers() == [1, 2, 3]


def test_stream_maps() -> None:
    root = new_root()
    land(root, [A, record(1), record(2)], [B, record(3, name="c", colour="red")], [A, record(4)])
    maps = {STREAM: {"__alias__": "sales", "label": "name.upper()", "name": "__NULL__"}}
    printed = replay(config(root, stream_maps=maps))
    assert {message.get("stream") for message in printed.messages} == {"sales", None}
    assert printed.records()[0] == {"id": 1, "label": "NO 1"}
    assert printed.records()[2] == {"id": 3, "label": "C", "colour": "red"}
    assert [m["schema"]["properties"].keys() for m in printed.of("SCHEMA")] == [
        {"id", "label"},
        {"id", "label", "colour"},
        {"id", "label"},
    ]
    assert printed.of("RECORD")[0]["time_extracted"] == "2026-03-01T10:00:01.500000+00:00"
    assert printed.state["bookmarks"][STREAM]["sequence"] == 3


def test_stream_maps_filter_and_drop() -> None:
    root = new_root()
    lines = [A, *map(record, range(6)), schema(stream="customers"), record(1, "customers")]
    land(root, lines)
    maps = {STREAM: {"__filter__": "record['id'] % 2 == 0"}, "customers": None}
    printed = replay(config(root, stream_maps=maps))
    assert printed.numbers() == [0, 2, 4]
    assert {message.get("stream") for message in printed.messages} == {STREAM, None}


def test_flattening() -> None:
    root = new_root()
    place = {"type": "object", "properties": {"city": {"type": "string"}}}
    land(root, [schema({**properties(), "address": place}), record(1, address={"city": "Bern"})])
    printed = replay(config(root, flattening_enabled=True, flattening_max_depth=2))
    assert printed.records() == [{"id": 1, "address__city": "Bern"}]
    assert printed.of("SCHEMA")[0]["schema"]["properties"].keys() == {"id", "address__city"}


def test_several_taps_do_not_mix() -> None:
    root = new_root()
    land(root, [A, record(1)])
    land(root, [B, record(2, name="b", colour="c")], tap_id="tap-other--x")
    assert replay(config(root)).data == [A, record(1)]


# A record's fields, as any tap may send them.
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
STREAMS = st.sampled_from(["orders", "a/b", "Größe"])
TIMES = st.integers(0, 3599).map(lambda s: f"2026-03-01T10:{s // 60:02}:{s % 60:02}Z")


@st.composite
def tap_output(draw: st.DrawFn) -> list[bytes]:
    """What a tap might print: some streams in turns, their schemas changing now and then."""
    lines: list[bytes] = []
    known: set[str] = set()
    for _ in range(draw(st.integers(1, 12))):
        stream = draw(STREAMS)
        kind = draw(st.sampled_from(["RECORD", "RECORD", "RECORD", "SCHEMA", "ACTIVATE_VERSION"]))
        if kind == "SCHEMA" or stream not in known:
            names = draw(st.sets(st.sampled_from(["a", "b", "ü"])))
            lines.append(schema(properties(*sorted(names)), stream))
            known.add(stream)
        if kind == "ACTIVATE_VERSION":
            lines.append(activate(draw(st.integers(1, 2**53)), stream))
        elif kind == "RECORD":
            fields = draw(st.dictionaries(st.text(max_size=5), VALUES, max_size=3))
            row = {
                "type": "RECORD",
                "stream": stream,
                "record": {**fields, "id": draw(st.integers())},
                "time_extracted": draw(TIMES),
            }
            lines.append(json.dumps(row, ensure_ascii=draw(st.booleans())).encode(errors="replace"))
    return lines


def land_with_target(root: str, lines: list[bytes]) -> None:
    target = TargetSingerlake(config={"lake_root": root, "tap_id": TAP_ID})
    with redirect_stdout(io.StringIO()):
        target.listen(io.TextIOWrapper(io.BytesIO(b"".join(line + b"\n" for line in lines))))


@settings(max_examples=40)
@given(tap_output())
def test_from_lake_to_lake_nothing_changes(lines: list[bytes]) -> None:
    """Landed, replayed, landed in a second lake, and replayed again: equal lines."""
    first, second = new_root(), new_root()
    land(first, lines)
    replayed = replay(config(first))
    land_with_target(second, replayed.lines)
    assert replay(config(second)).data == replayed.data
    for stream in {json.loads(line)["stream"] for line in lines}:
        stored = [line for line in replayed.data if json.loads(line)["stream"] == stream]
        sent = [line for line in lines if json.loads(line)["stream"] == stream]
        assert _without_schemas(stored) == _without_schemas(sent)
        assert set(stored) <= set(sent) or not _without_schemas(sent)


def _without_schemas(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if json.loads(line)["type"] != "SCHEMA"]
