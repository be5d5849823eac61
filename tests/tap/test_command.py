"""The real command: settings, help, errors and secrets."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from singerlake.lake import open_lake
from tests.servers import S3Server
from tests.tap.replay import (
    BIN,
    STREAM,
    TAP_ID,
    command,
    config,
    land_numbers,
    record,
    run,
    schema,
)

OURS = {
    "as_of",
    "end_time",
    "lake_root",
    "lineage",
    "run_outcomes",
    "runs",
    "schema_versions",
    "start_time",
    "storage_options",
    "files",
    "files_folder",
    "streams",
    "tap_id",
}
OF_THE_SDK = {
    "faker_config",
    "flattening_enabled",
    "flattening_max_depth",
    "flattening_max_key_length",
    "flattening_separator",
    "stream_map_config",
    "stream_maps",
}
SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLE"


def test_discover_then_sync_with_catalog_and_state(root: Path, tmp_path: Path) -> None:
    found = run(tmp_path, config(root), "--discover")
    assert found.code == 0
    catalog = tmp_path / "catalog.json"
    catalog.write_bytes(found.raw)
    first = run(tmp_path, config(root), "--catalog", str(catalog))
    assert (first.code, first.numbers()) == (0, [1, 2])
    land_numbers(root, 3)
    second = run(tmp_path, config(root), "--catalog", str(catalog), state=first.state)
    assert (second.code, second.numbers()) == (0, [3])


def test_an_unknown_setting_is_warned_of_with_the_nearest_name(root: Path, tmp_path: Path) -> None:
    done = run(tmp_path, config(root, start_tme="2026-01-01T00:00:00Z"))
    assert done.code == 0
    warnings = [line.split(" | ")[-1] for line in done.log.splitlines() if "| WARNING" in line]
    assert warnings == [
        "The setting 'start_tme' is unknown, and is ignored. Did you mean 'start_time'?"
    ]


def test_settings_from_the_environment(root: Path) -> None:
    environment = {
        "TAP_SINGERLAKE_LAKE_ROOT": str(root),
        "TAP_SINGERLAKE_TAP_ID": TAP_ID,
        "TAP_SINGERLAKE_STREAMS": json.dumps([STREAM]),
        "TAP_SINGERLAKE_SCHEMA_VERSIONS": "latest",
    }
    done = subprocess.run(
        [BIN / "tap-singerlake", "--config=ENV"],
        env=os.environ | environment,
        capture_output=True,
        check=True,
    )
    assert done.stdout.count(b'"RECORD"') == 2


@pytest.mark.parametrize("arguments", [("--test",), ("--test=schema",)])
def test_the_connection_test_reads_little(
    root: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """One record of a stream is enough, though each of its files has no more than one."""
    done = run(tmp_path, config(root), *arguments)
    assert done.code == 0
    assert done.numbers() == ([1] if arguments == ("--test",) else [])
    assert len(done.of("SCHEMA")) == 1


@pytest.mark.parametrize("form", [[], ["--format=markdown"]])
def test_about_describes_every_setting_to_people(form: list[str]) -> None:
    about = [BIN / "tap-singerlake", "--about"]
    done = subprocess.run([*about, *form], capture_output=True, check=True, text=True)
    known = subprocess.run([*about, "--format=json"], capture_output=True, check=True)
    text = " ".join(done.stdout.split())
    for name, setting in json.loads(known.stdout)["settings"]["properties"].items():
        assert name in text
        assert " ".join(setting["description"].split()) in text


def test_about_lists_exactly_the_settings(tmp_path: Path) -> None:
    done = subprocess.run(
        [BIN / "tap-singerlake", "--about", "--format=json"], capture_output=True, check=True
    )
    about = json.loads(done.stdout)
    listed = about["settings"]["properties"]
    assert listed.keys() == OURS | OF_THE_SDK
    assert about["settings"]["required"] == ["lake_root"]
    assert all(setting.get("description") for setting in listed.values())
    assert set(about["capabilities"]) == {
        "about",
        "catalog",
        "discover",
        "schema-flattening",
        "state",
        "stream-maps",
        "structured-logging",
    }


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ({"lake_root": None}, "lake_root"),
        ({"streams": "orders"}, "is not of type 'array'"),
        ({"storage_options": [SECRET]}, "storage_options is not an object"),
        ({"storage_options": f"key=AKIA;secret={SECRET}"}, "storage_options is not an object"),
        ({"stream_maps": {STREAM: {"label": "name.upper("}}}, "name.upper("),
        ({"stream_maps": {STREAM: {"__filter__": "id >"}}}, "id >"),
        ({"stream_maps": {STREAM: {"label": 5}}}, "label"),
        ({"stream_maps": {STREAM: 5}}, "5"),
        ({"start_time": "yesterday"}, "start_time is 'yesterday'"),
        ({"start_time": "0001-01-01T00:00:00+01:00"}, "start_time is '0001-01-01"),
        ({"end_time": "9999-12-31T23:59:59-05:00"}, "end_time is '9999-12-31"),
        (
            {"batch_config": {"storage": {"params": {"secret": SECRET}}}},
            "batch_config is no setting",
        ),
        ({"streams": ["orderz"]}, "orderz"),
        ({"tap_id": "tap-nobody--knows"}, "UnknownTap: "),
        ({"lake_root": "nowhere://x"}, "BadLocation: "),
        ({"storage_options": {"key": SECRET}}, "takes no storage_options"),
        ({"storage_options": {"create": True}, "tap_id": None}, "takes no storage_options"),
        ({"storage_options": {"url": SECRET}, "tap_id": None}, "takes no storage_options"),
    ],
)
def test_bad_settings_are_one_line_that_says_which(
    root: Path, tmp_path: Path, bad: dict[str, Any], expected: str
) -> None:
    done = run(tmp_path, config(root) | bad)
    assert (done.code, done.raw) == (1, b"")
    assert expected in done.log
    assert "Traceback" not in done.log
    assert SECRET not in done.log


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"label": "nme.upper()"}, "ConfigError: "),
        ({"label": "1/0"}, "do not suit a record (ZeroDivisionError)"),
        ({"__filter__": "id / 0"}, "do not suit a record (ZeroDivisionError)"),
    ],
    ids=str,
)
def test_a_map_that_fails_at_a_record_is_one_line(
    root: Path, tmp_path: Path, wrong: dict[str, str], expected: str
) -> None:
    done = run(tmp_path, config(root, stream_maps={STREAM: wrong}))
    assert (done.code, done.kinds) == (1, ["SCHEMA"])
    assert expected in done.log
    assert "Traceback" not in done.log


@pytest.mark.parametrize("content", ["[1]", "7", "null", None], ids=str)
def test_settings_that_are_no_object_are_told(
    root: Path, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(content or "")
    done = run(tmp_path, config(root), "--config", str(path) if content else "")
    assert (done.code, done.raw) == (1, b"")
    assert "ConfigError: what --config names cannot be read" in done.log
    assert "Traceback" not in done.log


@pytest.mark.parametrize(
    ("name", "value"),
    [("FLATTENING_MAX_DEPTH", "many-hush"), ("STORAGE_OPTIONS", '{"secret": "hush"')],
)
def test_a_variable_that_cannot_be_read_is_named_without_its_value(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"TAP_SINGERLAKE_{name}", value)
    done = run(tmp_path, config(root), "--config", "ENV")
    assert (done.code, done.raw) == (1, b"")
    assert f"TAP_SINGERLAKE_{name} cannot be read as JSON of the type" in done.log
    assert "Traceback" not in done.log
    assert "hush" not in done.log


def test_bad_settings_at_discovery(root: Path, tmp_path: Path) -> None:
    done = run(tmp_path, config(root, streams=["orderz"]), "--discover")
    assert (done.code, done.raw) == (1, b"")
    assert "ConfigError: streams names orderz" in done.log


@pytest.mark.parametrize("option", ["--config", "--state", "--catalog"])
def test_a_file_that_is_no_json_is_told(root: str, tmp_path: Path, option: str) -> None:
    """An empty state is none: a run that takes it for one would send everything again."""
    path = tmp_path / "empty"
    path.touch()
    done = run(tmp_path, config(root), option, str(path))
    assert (done.code, done.raw) == (1, b"")
    assert "is no JSON" in done.log
    assert "Traceback" not in done.log


@pytest.mark.parametrize("option", ["--config", "--state", "--catalog"])
def test_a_folder_in_place_of_a_file_is_told(root: Path, tmp_path: Path, option: str) -> None:
    done = run(tmp_path, config(root), option, str(tmp_path))
    assert (done.code, done.raw) == (2 if option != "--config" else 1, b"")
    assert "Is a directory" in done.log
    assert "Traceback" not in done.log


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"bookmarks": None}, "`bookmarks` is no object"),
        ({"bookmarks": []}, "`bookmarks` is no object"),
        ({"bookmarks": {STREAM: None}}, "bookmark of stream 'orders' is no object"),
        ({"bookmarks": {STREAM: 3}}, "bookmark of stream 'orders' is no object"),
        ({"bookmarks": {STREAM: {"partitions": 5}}}, "got `int` - at `$.partitions`"),
        ({"bookmarks": {STREAM: {"partitions": [5]}}}, "got `int` - at `$.partitions[0]`"),
        ({"bookmarks": {STREAM: {"progress_markers": 7}}}, "at `$.progress_markers`"),
        ([{"bookmarks": {}}], "the state is no object"),
        (5, "the state is no object"),
        ({"singer_state": 5}, "the state is no object"),
        ({"completed": {"singer_state": []}}, "the state is no object"),
        ({"type": "STATE"}, "the state is no object"),
        ({"orders": {"sequence": 3}}, "has no `bookmarks`: expected"),
        ({"singer_state": {"lastUpdated": 3}}, "found 'lastUpdated'"),
    ],
)
def test_a_state_of_another_shape_is_told(
    root: Path, tmp_path: Path, state: Any, expected: str
) -> None:
    done = run(tmp_path, config(root), state=state)
    assert (done.code, done.raw) == (1, b"")
    assert expected in done.log
    assert "Traceback" not in done.log


ENTRY = {"tap_stream_id": STREAM, "schema": {"type": "object"}, "metadata": []}


@pytest.mark.parametrize(
    ("catalog", "expected"),
    [
        ([], "Expected `object`, got `array`"),
        ({}, "missing required field `streams`"),
        ({"streams": {STREAM: ENTRY}}, "Expected `array`, got `object` - at `$.streams`"),
        ({"streams": [STREAM]}, "Expected `object`, got `str` - at `$.streams[0]`"),
        ({"streams": [{"stream": STREAM}]}, "missing required field `tap_stream_id`"),
        ({"streams": [ENTRY | {"schema": 1}]}, "at `$.streams[0].schema`"),
        ({"streams": [ENTRY | {"key_properties": "id"}]}, "at `$.streams[0].key_properties`"),
        ({"streams": [ENTRY | {"metadata": {}}]}, "at `$.streams[0].metadata`"),
        ({"streams": [ENTRY | {"metadata": [{}]}]}, "missing required field `breadcrumb`"),
        (
            {"streams": [ENTRY | {"metadata": [{"breadcrumb": [], "metadata": []}]}]},
            "at `$.streams[0].metadata[0].metadata`",
        ),
    ],
)
def test_a_catalog_of_another_shape_is_told(
    root: Path, tmp_path: Path, catalog: Any, expected: str
) -> None:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(catalog))
    done = run(tmp_path, config(root), "--catalog", str(path))
    assert (done.code, done.raw) == (1, b"")
    assert "ConfigError: the catalog is not of the shape" in done.log
    assert expected in done.log
    assert "Traceback" not in done.log


def test_a_catalog_whose_replication_key_is_not_there_is_told(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps({"streams": [ENTRY | {"replication_key": "nowhere"}]}))
    done = run(tmp_path, config(root), "--catalog", str(path))
    assert (done.code, done.raw) == (1, b"")
    assert "Field 'nowhere' is not in schema for stream 'orders'" in done.log
    assert "Traceback" not in done.log


def test_a_catalog_with_odd_parts_in_its_schemas_is_taken(root: Path, tmp_path: Path) -> None:
    """As another tap's discovery may have written it: `true` is a schema too."""
    odd = {"type": "object", "properties": {"id": True, "name": None}}
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps({"streams": [ENTRY | {"schema": odd}]}))
    done = run(tmp_path, config(root), "--catalog", str(path))
    assert done.code == 0, done.log
    assert b'"RECORD"' in done.raw


def test_secrets_are_never_printed(moto_server: S3Server, tmp_path: Path) -> None:
    bucket = moto_server.new_bucket()
    options = moto_server.storage_options()
    options["secret"] = SECRET
    options["client_kwargs"]["endpoint_url"] = "http://127.0.0.1:9"  # nobody listens there
    environment = {"SINGERLAKE_LOG_LEVEL": "DEBUG", "TAP_SINGERLAKE_LOGLEVEL": "DEBUG"}
    settings_of = config(f"s3://user:{SECRET}@{bucket}/lake", storage_options=options)
    line = command(tmp_path, settings_of)
    done = subprocess.run(
        line, capture_output=True, check=False, env=os.environ | environment, timeout=100
    )
    assert done.returncode == 1
    assert done.stdout == b""
    assert SECRET.encode() not in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_lake_on_s3(moto_server: S3Server, tmp_path: Path) -> None:
    options = moto_server.storage_options()
    address = f"s3://{moto_server.new_bucket()}/lake"
    lines = [schema(), record(1), record(2)]
    land_s3(address, options, lines)
    done = run(tmp_path, config(address, storage_options=options))
    assert done.code == 0
    assert done.data == lines
    assert moto_server.secret not in done.log


def land_s3(address: str, options: dict[str, Any], lines: list[bytes]) -> None:
    with open_lake(address, create=True, **options).writer(TAP_ID) as writer:
        for line in lines:
            writer.write(line)
