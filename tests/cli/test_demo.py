"""`demo`: a first look, from what the package brings."""

from __future__ import annotations

from pathlib import Path

from singerlake.cli.demo import TAP, sample
from tests.cli.lake import run, said, told


def test_it_lands_the_sample_and_looks_around(tmp_path: Path) -> None:
    root = tmp_path / "demo"
    shown = said("demo", root)
    for command in ("ls", "show", "diff"):
        assert f"$ singerlake {command} {root}" in shown
    assert "products" in shown
    assert "+  currency" in shown
    assert told("check", root)["clean"]
    assert told("show", root, TAP, "orders")["records"] == 12


def test_json_tells_where_it_is(tmp_path: Path) -> None:
    assert told("demo", tmp_path / "demo") == {
        "root": str(tmp_path / "demo"),
        "tap_id": TAP,
        "files": 4,
    }


def test_what_is_in_the_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = run("demo", tmp_path)
    assert (result.exit_code, "not empty" in result.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_sample_has_several_streams_and_two_versions() -> None:
    schemas = [line for line in sample() if b'"SCHEMA"' in line]
    assert len(schemas) == 4
