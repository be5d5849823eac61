"""Files of any kind, given back by the tap."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import ConfigError, CorruptFile, MissingFile
from singerlake.files import forget
from singerlake.lake import WriterOptions, open_lake
from singerlake.lake.blobs.staged import Staged
from singerlake.store import open_store
from tap_singerlake import settings
from tests.tap.replay import TAP_ID, config, properties, record, replay, schema, stream_keys

FIELDS = {**properties("name"), "photo": {"type": ["null", "string"], "x-singerlake-file": True}}

BYTES = [b"bytes of /tmp/one", b"bytes of /tmp/three"]


def stage(value: str) -> Staged:
    return Staged(value, lambda: io.BytesIO(b"bytes of " + value.encode()))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lake = open_lake(tmp_path / "lake", create=True)
    with lake.writer(TAP_ID, options=WriterOptions(stage=stage)) as writer:
        writer.write(schema(FIELDS))
        writer.write(record(1, name="one", photo="/tmp/one"))
        writer.write(record(2, name="none"))
        writer.write(record(3, name="three", photo="/tmp/three"))
        writer.write(schema(stream="plain"))
        writer.write(record(4, "plain"))
    return tmp_path / "lake"


def records(messages: list[dict[str, Any]], stream: str = "orders") -> list[dict[str, Any]]:
    return [
        message
        for message in messages
        if message["type"] == "RECORD" and message["stream"] == stream
    ]


def test_as_stored_the_lines_pass_as_they_are(root: Path) -> None:
    found = records(replay(config(root)).messages)
    assert [each["record"].get("photo") for each in found] == ["/tmp/one", None, "/tmp/three"]
    assert found[0]["singerlake_files"]["photo"].startswith("_files/")


@pytest.mark.parametrize("more", [{}, {"stream_maps": {"orders": {"name": "name"}}}])
def test_the_path_is_the_address_in_the_lake(root: Path, more: dict[str, Any]) -> None:
    found = records(replay(config(root, files="path", **more)).messages)
    assert all("singerlake_files" not in each for each in found)
    paths = [each["record"].get("photo") for each in found if "photo" in each["record"]]
    assert [Path(path).read_bytes() for path in paths if path] == BYTES
    assert found[1]["record"] == {"id": 2, "name": "none"}
    assert found[0]["time_extracted"].startswith("2026-03-01T10:00:01.5")


def test_fetched_files_are_there_before_their_records(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fetched"
    settings_ = config(root, files="fetch", files_folder=str(folder))
    for _ in range(2):
        found = records(replay(settings_).messages)
        paths = [Path(each["record"]["photo"]) for each in found if each["record"].get("photo")]
        assert [path.read_bytes() for path in paths] == BYTES
        assert all(path.is_relative_to(folder) for path in paths)
    assert records(replay(settings_).messages, "plain")[0]["record"] == {"id": 4, "name": "no 4"}


def test_a_forgotten_file_is_null_and_a_lost_one_an_error(root: Path, tmp_path: Path) -> None:
    lake = open_lake(root)
    forget(lake, TAP_ID, "orders", ["1"], apply=True)
    how = config(root, files="fetch", files_folder=str(tmp_path / "fetched"))
    found = records(replay(how).messages)
    assert [each["record"].get("photo") is None for each in found] == [True, True, False, True]
    store = open_store(root)
    (key,) = (row.key for row in store.list(stream_keys().under("_files")))
    path = root / key
    kept = path.read_bytes()
    path.write_bytes(b"x" + kept[1:])
    other = config(root, files="fetch", files_folder=str(tmp_path / "again"))
    with pytest.raises(CorruptFile):
        replay(other)
    path.unlink()
    with pytest.raises(MissingFile):
        replay(other)


@pytest.mark.parametrize(
    "wrong", [{"files": "fetch"}, {"files_folder": "x"}, {"files": "path", "files_folder": "x"}]
)
def test_settings_that_do_not_go_together(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="files_folder"):
        settings.window(config("lake", **wrong))


def test_an_older_line_without_the_field_passes(root: Path) -> None:
    line = json.loads(record(9, name="nine", photo="/tmp/nine"))
    lake = open_lake(root)
    with lake.writer(TAP_ID) as writer:
        writer.write(schema(FIELDS))
        writer.write(json.dumps(line).encode())
    found = records(replay(config(root, files="path")).messages)
    assert found[-1]["record"]["photo"] == "/tmp/nine"
