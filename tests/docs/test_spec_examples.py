"""The worked examples of docs/spec.md are what the code does.

An example is the table or code block that follows a `<!-- example: … -->` comment.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import farmhash
import msgspec
import pytest

from singerlake.errors import BadMessage, BadName
from singerlake.format import (
    blob,
    blob_keys,
    catalogue,
    compression,
    document,
    keys,
    lake_document,
    lock_record,
    manifest,
    marker,
    message,
    pin,
    run,
    run_log,
    singer_file,
    times,
)
from singerlake.format.keys import FileName
from singerlake.format.marker import Marker
from singerlake.format.schema import Schema, hash_text

ROOT = Path(__file__).parents[2]
SPEC = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")


def example(name: str) -> str:
    """What follows the example's comment, up to the first line that is not part of it."""
    _, found, rest = SPEC.partition(f"<!-- example: {name} -->\n")
    assert found, f"docs/spec.md has no example {name!r}"
    return rest.lstrip("\n")


def code(name: str) -> str:
    match = re.match(r"```\w*\n(.*?)```\n", example(name), re.DOTALL)
    assert match, f"the example {name!r} is no code block"
    return match[1]


def rows(name: str) -> list[list[str]]:
    lines = []
    for line in example(name).splitlines():
        if not line.startswith("|"):
            break
        lines.append([cell(text) for text in re.split(r"(?<!\\)\|", line)[1:-1]])
    assert len(lines) > 2, f"the example {name!r} is no table"
    return lines[2:]


def cell(text: str) -> str:
    """A table cell's text; `–` stands for nothing."""
    text = text.strip().replace(r"\|", "|")
    ticks = re.match(r"`+", text)
    if ticks and text.endswith(ticks[0]) and ticks[0] not in text[len(ticks[0]) : -len(ticks[0])]:
        inner = text[len(ticks[0]) : -len(ticks[0])]
        return inner.strip() if len(ticks[0]) > 1 else inner
    return "" if text == "–" else text


def compact(name: str) -> bytes:
    """An indented example as the lake writes it."""
    body = json.loads(code(name))
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def the_manifest() -> manifest.Manifest:
    return manifest.decode(compact("manifest"), "spec.md")


@pytest.mark.parametrize(("name", "segment"), rows("escape"))
def test_names_escape_as_shown(name: str, segment: str) -> None:
    assert keys.escape(json.loads(name)) == segment
    assert keys.unescape(segment) == json.loads(name)


@pytest.mark.parametrize("segment", [row[0] for row in rows("not-names")])
def test_what_is_shown_as_no_name_is_none(segment: str) -> None:
    with pytest.raises(BadName):
        keys.unescape(segment)


@pytest.mark.parametrize(("text", "stamp"), rows("times"))
def test_times_are_read_as_shown(text: str, stamp: str) -> None:
    line = json.dumps({"type": "RECORD", "stream": "s", "record": {}, "time_extracted": text})
    if stamp == "refused":
        with pytest.raises(BadMessage):
            message.decode(line.encode())
    else:
        moment = message.decode(line.encode()).time_extracted
        assert moment is not None
        assert times.stamp(moment) == stamp


def test_a_time_is_spliced_in_as_shown() -> None:
    before, after = code("splice 2026-11-16T03:00:00.280050Z").splitlines()
    moment = times.parse_stamp("20261116T030000.280050Z")
    assert message.with_time(before.encode(), moment) == after.encode()


def test_files_are_spliced_in_as_shown() -> None:
    before, after = code("splice-files").splitlines()
    path = blob_keys.path_of(hashlib.sha256(b"").hexdigest())
    assert blob.with_files(before.encode(), {"photo": path}) == after.encode()


def test_the_header_is_as_shown() -> None:
    fields = dict(line.split(maxsplit=1) for line in code("header").splitlines())
    shown = bytes.fromhex(fields["bytes"])
    assert compression.member(b"{}\n", name=fields["origin"]).startswith(shown)
    assert compression.origin(shown) == fields["origin"]


@pytest.mark.parametrize("row", rows("file-names"), ids=lambda row: row[0])
def test_file_names_parse_as_shown(row: list[str]) -> None:
    text, stream, first, last, suffix, ending = row
    name = FileName.parse(text)
    assert name is not None
    assert name.stream == json.loads(stream)
    assert (times.rfc3339(name.first), times.rfc3339(name.last)) == (first, last)
    assert (name.suffix, name.compression) == (suffix, ending)
    if "." in text.split("Z-")[0]:
        assert str(name) == text


@pytest.mark.parametrize(("given", "printed"), rows("canonical"))
def test_schemas_are_printed_as_shown(given: str, printed: str) -> None:
    text = Schema({"x": json.loads(given)}).canonical().decode()
    assert text == '{"key_properties":[],"schema":{"x":' + printed + "}}"


def test_the_hash_is_found_in_the_steps_shown() -> None:
    text = code("hash-text").rstrip("\n").encode()
    steps = rows("hash-steps")
    for n, (number, fingerprint, encoded, candidate, why) in enumerate(steps):
        salted = text if n == 0 else text + b"\n" + str(n).encode()
        hashed = farmhash.fingerprint64(salted)
        assert (int(number), f"{hashed:016x}") == (n, fingerprint)
        assert base64.b85encode(hashed.to_bytes(8, "big")).decode() == encoded
        assert encoded[:7] == candidate
        assert candidate.isalnum() == (why == "clean")
    assert [row[4] == "clean" for row in steps] == [False] * 16 + [True]
    assert hash_text(text) == steps[-1][3]


@pytest.mark.parametrize("number", [1, 2])
def test_the_files_are_what_the_manifest_says(number: int) -> None:
    content = code(f"file {number}").encode()
    row = the_manifest().files[number - 1]
    found = singer_file.scan([content], "spec.md")
    assert found.stream == the_manifest().stream
    assert (found.summary.records, found.raw_bytes) == (row.records, row.raw_bytes)
    assert (found.summary.first, found.summary.last) == (row.first, row.last)
    assert found.schema.hash() == row.schema_hash
    assert found.schema.digest() == the_manifest().versions[row.schema_hash].digest
    name = FileName(found.stream, row.first, row.last, keys.digits_of(row.checksum))
    assert row.path == keys.file_path(row.schema_hash, name)


def test_the_manifest_is_written_as_shown() -> None:
    assert manifest.encode(the_manifest()) == compact("manifest")


def test_the_digest_is_that_of_the_hashed_text() -> None:
    text = code("hash-text").rstrip("\n").encode()
    shown = the_manifest().versions[hash_text(text)].digest
    assert shown == "sha256:" + hashlib.sha256(text).hexdigest()


def test_the_lake_document_is_written_as_shown() -> None:
    text = code("lake-document").encode()
    body = lake_document.decode(text, "spec.md")
    assert lake_document.encode(body) == text
    (tap,) = body["taps"]
    empty = lake_document.new(body["lake_id"], times.parse_stamp("20261116T030000.040008Z"))
    assert lake_document.encode(lake_document.with_taps(empty, [tap])) == text


def test_the_catalogue_is_written_as_shown() -> None:
    text = code("catalogue").encode()
    schema_line = code("file 2").splitlines()[0].encode()
    entry = catalogue.entry("orders", message.decode_schema(schema_line))
    entry = marker.marked(entry, Marker(the_manifest().log_id, the_manifest().last_sequence))
    assert catalogue.encode("tap-shop--meltanolabs", [entry]) == text
    assert catalogue.decode(text, "spec.md") == {"orders": entry}


def test_the_segment_row_is_written_as_shown() -> None:
    row = msgspec.json.decode(compact("segment-row"), type=manifest.Segment)
    assert msgspec.json.encode(row) + b"\n" == compact("segment-row")
    unique = row.path[-13:-5]
    assert row.path == keys.segment_path(row.level, row.first_sequence, row.last_sequence, unique)


def test_the_gap_is_written_as_shown() -> None:
    gap = msgspec.json.decode(compact("gap"), type=manifest.Gap)
    assert msgspec.json.encode(gap) + b"\n" == compact("gap")


def test_the_lock_is_written_as_shown() -> None:
    record = lock_record.decode(code("lock").encode(), "spec.md")
    assert lock_record.encode(record) == code("lock").encode()


def test_the_findings_are_those_of_check() -> None:
    sources = (ROOT / "singerlake" / "lake").glob("**/check*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    kinds = (
        "manifest|segment|merge|sequence|file|name|blob|"
        "stream|schema|catalogue|lake-document|orphan|stale|foreign|run-log|run|pin|log|tap|copy"
    )
    found = set(re.findall(rf'"((?:{kinds})-[a-z]+)"', text))
    assert {row[0] for row in rows("findings")} == found | {"lock", "removal"}


def test_a_pin_is_written_as_shown() -> None:
    shown = pin.decode(compact("pin"), "spec.md")
    assert pin.encode(shown) == compact("pin")
    newest = the_manifest().files[-1]
    (place,) = (place for *_, place in shown.streams())
    assert (place.sequence, place.check) == (newest.sequence, newest.check)


def test_a_run_is_written_as_shown() -> None:
    shown = run.decode(compact("run"), "spec.md")
    assert f"`{shown.name}`" in SPEC
    assert run.encode(shown) == compact("run")
    log = run_log.decode(compact("run-log"), "spec.md")
    assert log.rows == (run_log.row_of(shown, 1),)
    assert run_log.encode(log) == compact("run-log")


def test_sealing_is_as_described() -> None:
    assert run_log.FAN_OUT == 50
    assert manifest.FAN_OUT == 100
    assert keys.LONGEST_SEGMENT == 180
    assert document.VERSION == 1
