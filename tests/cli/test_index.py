"""`index follow`, `rebuild`, `check` and `export`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from singerlake import open_lake
from singerlake.format.keys import StreamKeys
from singerlake.index.open import default_url, open_index
from singerlake.index.query import Query
from tests.cli.lake import TAP, land, run, said, told

FILES = 3


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/index.db"


def test_an_index_is_made_followed_and_compared(sound: Path, url: str) -> None:
    made = told("index", "rebuild", sound, "--index", url)
    assert made["failures"] == 0
    assert made["entries"] >= FILES
    assert said("index", "check", sound, "--index", url) == "0 problems found\n"
    land(sound, TAP, "orders", range(40, 44))
    behind = told("index", "check", sound, "--index", url)["findings"]
    assert [(one["kind"], one["stream"]) for one in behind] == [("behind", "orders")]
    assert said("index", "follow", sound, "--index", url, "--once") == "indexed 1 file\n"
    assert told("index", "check", sound, "--index", url)["findings"] == []
    followed = said("index", "export", sound, "--index", url)
    said("index", "rebuild", sound, "--index", url)
    assert said("index", "export", sound, "--index", url) == followed
    rows = [json.loads(line) for line in followed.splitlines()]
    assert len([row for row in rows if row["kind"] == "entry"]) == made["entries"] + 1


def test_the_default_is_in_the_cache_and_by_the_environment(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said("index", "rebuild", sound)
    assert said("index", "check", sound, "--index", "default") == "0 problems found\n"
    (made,) = (tmp_path / "cache" / "singerlake" / "index").glob("*.db")
    lake_id = open_lake(sound).lake_id()
    assert made.stem == lake_id
    assert default_url(lake_id) == f"sqlite:///{made}"
    said("index", "rebuild", sound, SINGERLAKE_INDEX=url)
    assert (tmp_path / "index.db").exists()


def test_an_export_as_parquet(sound: Path, url: str, tmp_path: Path) -> None:
    made = told("index", "rebuild", sound, "--index", url)
    path = tmp_path / "entries.parquet"
    assert "wrote" in said("index", "export", sound, "--index", url, "--parquet", path)
    table = pq.read_table(path)
    assert table.num_rows == made["entries"]
    storage = open_index(url)
    found = {one.id for one in storage.page(Query(), limit=1000)}
    storage.close()
    assert set(table.column("id").to_pylist()) == found


def test_a_parquet_file_that_cannot_be_written_is_told(
    sound: Path, url: str, tmp_path: Path
) -> None:
    said("index", "rebuild", sound, "--index", url)
    for path in (tmp_path / "nowhere" / "entries.parquet", sound / "raw"):
        done = run("index", "export", sound, "--index", url, "--parquet", path)
        assert done.exit_code == 2
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.partial"))


def test_what_a_check_finds_and_a_rebuild_mends(sound: Path, url: str, tmp_path: Path) -> None:
    said("index", "rebuild", sound, "--index", url)
    storage = open_index(url)
    with storage.change(TAP, "orders") as change:
        bookmark = change.bookmark
        assert bookmark is not None
        change.clear()
        change.keep(bookmark)
    storage.close()
    shown = said("index", "check", sound, "--index", url, code=1)
    assert "missing" in shown
    said("index", "rebuild", sound, "--index", url)
    assert said("index", "check", sound, "--index", url) == "0 problems found\n"


def test_a_stream_that_cannot_be_read_is_reported(sound: Path, url: str) -> None:
    manifest = sound / StreamKeys(TAP, "orders").manifest
    manifest.write_bytes(b"{")
    for name in ("rebuild", "follow"):
        once = ["--once"] if name == "follow" else []
        result = run("index", name, sound, "--index", url, *once)
        assert result.exit_code == 3
        assert "orders: CorruptDocument" in result.stderr


@pytest.mark.parametrize(
    ("url", "said_so"),
    [
        ("mysql://host/x", "expected an index such as"),
        ("sqlite://x", "expected sqlite:///"),
        ("sqlite:///none.db", "there is no index at none.db"),
        ("dynamodb://", "expected dynamodb://"),
    ],
)
def test_what_is_no_index(sound: Path, url: str, said_so: str) -> None:
    result = run("index", "check", sound, "--index", url)
    assert result.exit_code == 2
    assert said_so in result.stderr


def test_a_file_that_is_no_index(sound: Path, tmp_path: Path) -> None:
    (tmp_path / "other.db").write_text("a text that is longer than a header" * 10)
    result = run("index", "check", sound, "--index", f"sqlite:///{tmp_path}/other.db")
    assert result.exit_code == 3
    assert "delete the file" in result.stderr


def test_follow_ends_on_sigterm(sound: Path, url: str) -> None:
    command = [sys.executable, "-m", "singerlake.cli", "index", "follow", str(sound), "--json"]
    process = subprocess.Popen([*command, "--index", url], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
