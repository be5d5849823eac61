"""`put`, `get`, `latest` and `forget`: files of any kind, by command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from singerlake import open_lake
from singerlake.files import entries
from tests.cli.lake import run, said, told

WHERE = ("camera-1", "photos")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "door.jpg").write_bytes(b"a door")
    (tmp_path / "gate.jpg").write_bytes(b"a gate")
    return tmp_path / "lake"


def put(root: Path, *names: str, **more: str) -> list[dict[str, Any]]:
    files = [str(root.parent / name) for name in names]
    options = [part for name, value in more.items() for part in (f"--{name}", value)]
    where = ("--root", str(root), "--where", "camera-1", "--what", "photos")
    answer = run("put", *files, *where, *options, "--json")
    assert answer.exit_code == 0, answer.output
    found: list[dict[str, Any]] = json.loads(answer.output)["files"]
    return found


def test_put_look_get_and_forget(root: Path, tmp_path: Path) -> None:
    door, gate = put(root, "door.jpg", "gate.jpg", meta="floor=2", start="2026-11-16")
    assert door["record"]["meta"] == {"floor": "2"}
    assert told("latest", root, *WHERE)["record"]["name"] == "gate.jpg"  # the last of equals
    assert "gate.jpg" in said("latest", root, *WHERE)
    out = tmp_path / "out"
    out.mkdir()
    said("get", root, *WHERE, "--id", gate["id"], "--to", out)
    assert (out / "gate.jpg").read_bytes() == b"a gate"
    said("get", root, *WHERE, "--to", out / "named")
    assert (out / "named").read_bytes() == b"a gate"
    assert "to forget: `forget --apply` does it" in said("forget", root, *WHERE, "--id", gate["id"])
    assert len(entries(open_lake(root).stream(*WHERE))) == 2
    said("pin", root, "audit")
    assert run("forget", root, *WHERE, "--id", gate["id"], "--apply").exit_code == 4
    said("unpin", root, "audit")
    assert told("forget", root, *WHERE, "--id", gate["id"], "--apply")["applied"]
    assert [one.name for one in entries(open_lake(root).stream(*WHERE))] == ["door.jpg"]
    assert run("check", root, "--deep").exit_code == 0


def test_bytes_on_stdout(root: Path) -> None:
    put(root, "door.jpg")
    assert run("get", root, *WHERE, "--to", "-").stdout_bytes == b"a door"


def test_a_name_leads_nowhere_else(root: Path, tmp_path: Path) -> None:
    put(root, "door.jpg", name="../../../evil")
    out = tmp_path / "out"
    out.mkdir()
    said("get", root, *WHERE, "--to", out)
    assert [path.name for path in out.iterdir()] == ["evil"]


@pytest.mark.parametrize(
    ("arguments", "code", "said_"),
    [
        (("missing",), 2, "BadFile"),
        (("door.jpg", "--start", "never"), 2, "is no time"),
        (("door.jpg", "--work-id", "A"), 2, "work_id is 'A'"),
        (("door.jpg", "--meta", "x"), 2, "is not KEY=VALUE"),
        (("door.jpg", "gate.jpg", "--name", "x"), 2, "for a single file"),
    ],
)
def test_what_is_refused(root: Path, arguments: tuple[str, ...], code: int, said_: str) -> None:
    files = ("missing", "door.jpg", "gate.jpg")
    words = [str(root.parent / word) if word in files else word for word in arguments]
    answer = run("put", *words, "--root", str(root), "--what", "photos", "--where", "camera-1")
    assert answer.exit_code == code
    assert said_ in answer.output


def test_the_root_may_be_in_the_environment(root: Path) -> None:
    file, at = str(root.parent / "door.jpg"), str(root)
    put_there = ("put", file, "--what", "photos", "--where", "camera-1")
    assert run(*put_there, SINGERLAKE_ROOT=at).exit_code == 0
    assert "door.jpg" in said("latest", *WHERE, SINGERLAKE_ROOT=at)


def test_a_flipped_byte_and_missing_bytes(root: Path) -> None:
    (door,) = put(root, "door.jpg")
    path = root / "raw" / "camera-1" / "photos" / door["path"]
    path.write_bytes(b"a doos")
    assert run("check", root).exit_code == 0
    assert [one["code"] for one in _findings(root, "--deep")] == ["blob-checksum"]
    assert run("get", root, *WHERE, "--to", root.parent / "x").exit_code == 3
    path.unlink()
    assert [one["code"] for one in _findings(root)] == ["blob-missing"]


def _findings(root: Path, *options: str) -> list[dict[str, Any]]:
    answer = run("check", root, *options, "--json")
    assert answer.exit_code == 1
    found: list[dict[str, Any]] = json.loads(answer.output)["findings"]
    return found


def test_du_counts_the_bytes_of_files(root: Path) -> None:
    put(root, "door.jpg", "gate.jpg")
    assert told("du", root)["total"]["files"] == 12
    assert "files" in said("du", root)
