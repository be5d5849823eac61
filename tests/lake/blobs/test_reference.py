"""Which files commits name, and what it costs to know."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import pytest

from singerlake.errors import BadFile, BadMessage
from singerlake.format import blob, blob_keys, keys, message
from singerlake.format.schema import Schema
from singerlake.lake import Lake, Selection, WriterOptions, open_on
from singerlake.lake.blobs.attaching import with_files
from singerlake.lake.blobs.live import live
from singerlake.lake.blobs.reference import Marks, files_of
from singerlake.lake.blobs.staged import Blob, Staged
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Counting, Store
from tests.lake.landing import KEYS, STREAM, TAP, land, new_store

CONTENTS = {f"/staged/{number}": b"bytes %d" % number for number in range(10)}


def stage(value: str) -> Staged:
    def opened() -> Any:
        if value not in CONTENTS:
            raise FileNotFoundError(2, "No such file or directory")
        return io.BytesIO(CONTENTS[value])

    return Staged(value, opened)


def path_of(number: int) -> str:
    return blob_keys.path_of(hashlib.sha256(CONTENTS[f"/staged/{number}"]).hexdigest())


def schema(*marked: str, keys: tuple[str, ...] = ("id",)) -> bytes:
    properties: dict[str, Any] = {"id": {"type": "integer"}, "note": {"type": "string"}}
    properties |= {name: {"type": ["null", "string"], blob.MARK: True} for name in marked}
    body = {"type": "object", "properties": properties}
    line = {"type": "SCHEMA", "stream": STREAM, "schema": body, "key_properties": list(keys)}
    return json.dumps(line).encode()


def record(number: int, envelope: dict[str, Any] | None = None, **fields: Any) -> bytes:
    line = {"type": "RECORD", "stream": STREAM, "record": {"id": number, **fields}}
    return json.dumps({**line, **(envelope or {})}).encode()


def landed(store: Store, *commits: list[bytes], staging: bool = True) -> Lake:
    lake = open_on(store, create=True)
    for lines in commits:
        options = WriterOptions(stage=stage if staging else None)
        with lake.writer(TAP, options=options) as writer:
            for line in lines:
                writer.write(line)
    return lake


def test_the_line_keeps_its_bytes_and_says_where_the_file_is() -> None:
    line = record(1, photo="/staged/1", note="é")
    lake = landed(new_store(), [schema("photo"), line])
    stream = lake.stream(TAP, STREAM).snapshot()
    (file,) = stream.files()
    stored = list(stream.lines(file))[1]
    assert stored.startswith(line[:-1])
    rest = json.loads(b"{" + stored[len(line) :].lstrip(b","))
    assert rest.keys() == {"time_extracted", "singerlake_files"}
    assert rest["singerlake_files"] == {"photo": path_of(1)}
    assert lake.store.read(KEYS.under(path_of(1))).data == CONTENTS["/staged/1"]


def test_references_have_the_numbers_of_their_commits_also_after_a_vacuum() -> None:
    lake = landed(
        new_store(),
        [schema("photo", "scan"), record(1, photo="/staged/1", scan="/staged/2"), record(2)],
        [schema("photo", "scan"), record(3, scan="/staged/3")],
        [schema("photo", "scan"), record(4), record(5, photo="/staged/1")],
    )
    expected = [
        (1, "photo", path_of(1), 1),
        (1, "scan", path_of(2), 1),
        (2, "scan", path_of(3), 3),
        (3, "photo", path_of(1), 5),
    ]

    def found(selection: Selection) -> list[tuple[int, str, str, int]]:
        stream = lake.stream(TAP, STREAM).snapshot()
        return [
            (one.sequence, one.property_name, one.path, one.record["id"])
            for one in files_of(stream, selection)
        ]

    for _ in range(2):
        assert found(Selection()) == expected
        assert found(Selection(since=1, until=2)) == expected[2:3]
        assert found(Selection(since=3)) == []
        vacuum(lake.store, KEYS, VacuumOptions())
    assert len(list(lake.stream(TAP, STREAM).snapshot().files())) == 1


def test_a_stream_without_marks_costs_no_request() -> None:
    store = Counting(new_store())
    land(store, [1, 2])
    stream = Lake(store).stream(TAP, STREAM).snapshot()
    marks = Marks()
    assert list(files_of(stream, marks=marks)) == []
    store.reset()
    assert list(files_of(stream, marks=marks)) == []
    assert store.total == 0


def test_landing_without_marks_makes_the_same_requests_with_the_setting_as_without() -> None:
    counts = []
    for staging in (False, True):
        store = Counting(new_store())
        lines = [schema(), *(record(number) for number in range(100))]
        landed(store, lines, staging=staging)
        counts.append(dict(store.counts))
    assert counts[0] == counts[1]


def test_a_block_of_a_stream_without_marks_is_taken_whole_beside_one_with_marks() -> None:
    lake = open_on(new_store(), create=True)
    with lake.writer(TAP, options=WriterOptions(stage=stage)) as writer:
        writer.write(schema())
        block = record(1) + b"\n" + record(2) + b"\n"
        assert writer.append_records(STREAM, block) == 2
        writer.write(schema("photo"))
        assert writer.append_records(STREAM, block) is None


@pytest.mark.parametrize("staging", [False, True])
@pytest.mark.parametrize("field", [blob.FIELD, blob.FORGOTTEN])
def test_what_the_tap_itself_says_in_these_fields_does_not_count(staging: bool, field: str) -> None:
    """A replay of another lake sends such lines; so might an enemy."""
    said = {blob.FIELD: {"photo": path_of(7)}, blob.FORGOTTEN: True}[field]
    lines = [schema("photo"), record(1, photo="/staged/1"), record(1, {field: said})]
    lake = landed(new_store(), lines, staging=staging)
    found = [one.path for one in files_of(lake.stream(TAP, STREAM).snapshot())]
    assert found == ([path_of(1)] if staging else [])
    assert live(lake.stream(TAP, STREAM).snapshot()).paths() == set(found)


@pytest.mark.parametrize(
    "line", [b'"singerlake_files"', b'{"singerlake_files":', b'["singerlake_files"]']
)
def test_a_line_that_is_no_message_is_damage(line: bytes) -> None:
    with pytest.raises(BadMessage):
        blob.named(line, ("id",))


def test_a_line_that_only_python_reads_names_files_too() -> None:
    line = blob.with_files(b'{"type":"RECORD","record":{"id":NaN}}', {"photo": path_of(1)})
    said = blob.named(line, ("id",))
    assert said is not None
    assert said.paths == {"photo": path_of(1)}


def test_a_block_of_such_lines_is_not_taken_whole() -> None:
    lake = open_on(new_store(), create=True)
    with lake.writer(TAP) as writer:
        writer.write(schema("photo"))
        forged = record(1, {blob.FIELD: {"photo": path_of(7)}})
        assert writer.append_records(STREAM, forged + b"\n") is None
        assert writer.append_records(STREAM, record(1) + b"\n") == 1


@pytest.mark.parametrize("value", [5, ["/staged/1"], {"path": "/staged/1"}, True])
def test_a_value_that_is_no_path_is_refused(value: Any) -> None:
    with pytest.raises(BadFile, match="expected a path or URL, or null"):
        landed(new_store(), [schema("photo"), record(1, photo=value)])


def test_null_and_nothing_name_no_file() -> None:
    lake = landed(new_store(), [schema("photo"), record(1, photo=None), record(2)])
    assert list(files_of(lake.stream(TAP, STREAM).snapshot())) == []


def test_a_missing_file_is_refused_and_nothing_is_committed() -> None:
    store = new_store()
    with pytest.raises(BadFile, match="No such file"):
        landed(store, [schema("photo"), record(1), record(2, photo="/staged/none")])
    assert [row.key for row in store.list("") if row.key.endswith(".gz")] == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (blob_keys.path_of("ab" * 32), "blob"),
        (blob_keys.removal_path("0" * 32), "removal"),
        ("_files/ab/" + "cd" * 32, ""),
        ("_files/ab/" + "ab" * 31, ""),
        ("_files/AB/" + "AB" * 32, ""),
        ("_files/_removals/x.json", ""),
        ("_files/../" + "ab" * 32, ""),
        ("_files", ""),
    ],
)
def test_keys_of_files(path: str, kind: str) -> None:
    assert blob_keys.kind_of(path) == kind
    found = keys.parse(KEYS.under(path))
    assert (found.kind if isinstance(found, keys.StreamObject) else "") == kind


@pytest.mark.parametrize(
    ("declared", "marked"),
    [
        ({"type": "string", blob.MARK: True}, True),
        ({"type": "string", blob.MARK: "true"}, False),
        ({"type": "string", blob.MARK: 1}, False),
        ({"type": "string"}, False),
        (True, False),
    ],
)
def test_only_true_is_a_mark(declared: Any, marked: bool) -> None:
    found = blob.marked(Schema({"properties": {"photo": declared}}, ()))
    assert found == (("photo",) if marked else ())


def test_a_line_that_grows_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message, "LONGEST", 100)
    names = tuple(f"file {number}" for number in range(20))
    line = json.dumps({"type": "RECORD", "record": dict.fromkeys(names, "x")}).encode()
    with pytest.raises(BadMessage, match="the most that the lake takes"):
        with_files(line, names, lambda _: Blob("ab" * 32, 1))
