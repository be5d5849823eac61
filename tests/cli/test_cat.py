"""`cat`: records as they were stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from singerlake import open_lake
from singerlake.lake.log import checksum
from tests.cli.lake import (
    EVIL,
    EVIL_TAP,
    TAP,
    VERSIONS,
    folder,
    land,
    lines,
    manifest,
    run,
    said,
)


def ids(*arguments: str | Path) -> list[int]:
    return [json.loads(line)["id"] for line in said(*arguments).splitlines()]


def test_records_come_in_commit_order_byte_for_byte(built: Path) -> None:
    assert ids("cat", built, TAP, "orders") == [0, 10, 11, 20, 21, 22]
    assert said("cat", built, TAP, "orders", "--limit", "1") == '{"id": 0, "price": 1.10}\n'


def test_since_a_sequence_or_a_time_and_by_version(built: Path) -> None:
    assert ids("cat", built, TAP, "orders", "--since", "2") == [20, 21, 22]
    assert ids("cat", built, TAP, "orders", "--since", "2026-11-02T08:00:11Z") == [11, 20, 21, 22]
    assert ids("cat", built, TAP, "orders", "--since", "2026-11-03") == []
    for version in ("v2", "2"):
        assert ids("cat", built, TAP, "orders", "--version", version) == [10, 11]
    assert ids("cat", built, TAP, "orders", "--version", "latest", "--limit", "2") == [20, 21]


def test_json_has_each_record_with_where_it_is_from(built: Path) -> None:
    row = lines("cat", built, TAP, "orders", "--since", "1", "--limit", "1")[0]
    assert row.pop("schema_hash")
    assert row == {
        "sequence": 2,
        "version": 2,
        "time_extracted": "2026-11-02T08:00:10+00:00",
        "record": {"id": 10, "price": 1.1},
    }
    assert '"price": 1.10}' in said("cat", built, TAP, "orders", "--json")


def test_each_record_of_a_merged_file_has_its_own_sequence(root: Path) -> None:
    for numbers in ([1, 2], [3], [4, 5]):
        land(root, TAP, "small", numbers)
    arguments = ("cat", root, TAP, "small")
    before = lines(*arguments)
    assert [row["sequence"] for row in before] == [1, 1, 2, 3, 3]
    said("vacuum", root, "--tap", TAP, "--stream", "small", "--here", "--apply")
    assert len(list(open_lake(root).stream(TAP, "small").snapshot().files())) == 1
    assert lines(*arguments) == before
    for sequence in range(4):
        rest = [row for row in before if row["sequence"] > sequence]
        assert lines(*arguments, "--since", str(sequence)) == rest
    assert lines(*arguments, "--since", "1", "--limit", "2") == before[2:4]
    land(root, TAP, "small", [6])
    assert [row["sequence"] for row in lines(*arguments, "--since", "2")] == [3, 3, 4]


def test_an_activation_counts_as_a_line_of_a_merged_file(root: Path) -> None:
    activation = b'{"type": "ACTIVATE_VERSION", "stream": "small", "version": 1}'
    for number in (1, 2):
        land(root, TAP, "small", [number])
        with open_lake(root).writer(TAP) as writer:
            schema = {"type": "object", "properties": VERSIONS[0]}
            message = {"type": "SCHEMA", "stream": "small", "schema": schema}
            writer.write(json.dumps({**message, "key_properties": ["id"]}).encode())
            writer.write(activation)
    said("vacuum", root, "--tap", TAP, "--stream", "small", "--here", "--apply")
    rows = lines("cat", root, TAP, "small")
    assert [(row["sequence"], row["record"]["id"]) for row in rows] == [(1, 1), (3, 2)]


def test_a_merged_file_with_more_lines_than_its_merge_tells(root: Path) -> None:
    for number in (1, 2):
        land(root, TAP, "small", [number])
    said("vacuum", root, "--tap", TAP, "--stream", "small", "--here", "--apply")
    path = manifest(root, "small")
    document = json.loads(path.read_bytes())
    (row,) = document["files"]
    told = folder(root, "small") / row["merge"]["path"]
    merge = json.loads(told.read_bytes())
    merge["parts"], row["records"] = [[1, 1], [2, 0]], 1
    told.write_text(json.dumps(merge))
    row["merge"]["checksum"] = checksum(told.read_bytes())
    path.write_text(json.dumps(document))
    result = run("cat", root, TAP, "small", "--json")
    assert (result.exit_code, "CorruptFile" in result.stderr) == (3, True)
    assert [json.loads(line)["sequence"] for line in result.stdout.splitlines()] == [1]


def test_latest_is_the_version_of_the_newest_file(root: Path) -> None:
    land(root, TAP, "orders", [30], VERSIONS[0])
    assert ids("cat", root, TAP, "orders", "--version", "latest") == [0, 30]


def test_messages_are_what_was_stored(built: Path) -> None:
    printed = said("cat", built, TAP, "orders", "--messages", "--limit", "2").splitlines()
    schema, record = map(json.loads, printed)
    assert schema["type"] == "SCHEMA"
    assert schema["schema"]["properties"] == VERSIONS[0]
    assert record["record"] == {"id": 0, "price": 1.1}


@pytest.mark.parametrize(
    "record",
    [
        '{"x": NaN}',
        '{ "n":1.10, "z":-Infinity,"z2":1e2 , "n":[ ] }',
        '{"record": {"x": NaN}, "}": "\\ud800"}',
    ],
)
def test_what_only_python_reads_is_printed_as_it_was_sent(root: Path, record: str) -> None:
    lines = [
        b'{"type": "RECORD", "stream": "odd", "record": %s}' % record.encode(),
        b' {"record" : %s , "stream":"odd","type":"RECORD"} ' % record.encode(),
    ]
    with open_lake(root).writer(TAP) as writer:
        writer.write(b'{"type": "SCHEMA", "stream": "odd", "schema": {}}')
        for line in lines:
            writer.write(line)
    assert said("cat", root, TAP, "odd") == f"{record}\n{record}\n"


def test_a_terminal_is_spared_what_it_would_obey(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_lake(root).writer(TAP) as writer:
        writer.write(b'{"type": "SCHEMA", "stream": "odd", "schema": {}}')
        record = '{"type": "RECORD", "stream": "odd", "record": {"x": "\x9b31m\u202e"}}'
        writer.write(record.encode())
    assert said("cat", root, TAP, "odd") == '{"x": "\x9b31m\u202e"}\n'
    monkeypatch.setattr("singerlake.cli.cat.is_terminal", lambda: True)
    assert said("cat", root, TAP, "odd") == '{"x": "\\x9b31m\\u202e"}\n'


def test_a_damaged_file_ends_it_with_an_error(built: Path) -> None:
    result = run("cat", built, TAP, "damaged")
    assert result.exit_code == 3
    assert result.stdout.startswith('{"id": 1, ')
    assert "CorruptFile" in result.stderr


def test_json_of_a_damaged_file_is_whole_lines_and_then_an_error(built: Path) -> None:
    result = run("cat", built, TAP, "damaged", "--json")
    assert (result.exit_code, "CorruptFile" in result.stderr) == (3, True)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["sequence"], row["record"]["id"]) for row in rows][:1] == [(1, 1)]
    assert {row["sequence"] for row in rows} <= {1, 2}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--since", "yesterday"), "neither a sequence number nor a time"),
        (("--version", "v9"), "no schema version 'v9'; it has v1 ("),
        (("--messages", "--json"), "JSON already"),
    ],
)
def test_wrong_use(built: Path, arguments: tuple[str, ...], says: str) -> None:
    result = run("cat", built, TAP, "orders", *arguments)
    assert (result.exit_code, says in " ".join(result.stderr.split())) == (2, True)


def test_hostile_streams_are_found_by_their_names(built: Path) -> None:
    assert ids("cat", built, EVIL_TAP, EVIL) == [1]


def test_a_reader_that_goes_away_is_no_error(root: Path) -> None:
    land(root, TAP, "many", range(20_000))
    command = [sys.executable, "-m", "singerlake.cli", "cat", str(root), TAP, "many"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
