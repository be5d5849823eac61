"""`restore`: what a backup brought back, held against what is known; dry until it is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.lake import contents, run, said, told
from tests.tap import replay
from tests.tap.replay import STREAM, TAP_ID, config
from tests.tap.test_vanished import LOSSES, OTHER, folder, land, lose_tail

PLACE = (TAP_ID, STREAM)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two runs of the target; the manifest between them is kept."""
    root = tmp_path / "lake"
    land(root, 1, 2)
    shutil.copy(folder(root) / "manifest.json", tmp_path / "older.json")
    land(root, 3)
    return root


def numbers(root: Path, tmp_path: Path) -> list[int]:
    done = replay.run(tmp_path, config(root))
    assert done.code == 0, done.log
    return [row["record"]["id"] for row in done.of("RECORD", STREAM)]


def test_a_lake_that_agrees(root: Path) -> None:
    before = contents(root)
    assert "2 streams, 0 of which did not agree." in said("restore", root)
    found = told("restore", root, "--apply")
    assert (found["applied"], found["agrees"]) == (True, True)
    assert contents(root) == before


def test_it_only_tells_what_it_would_do(root: Path) -> None:
    lose_tail(root)
    before = contents(root)
    shown = said("restore", root, code=1)
    assert "shorter" in shown
    assert "up to 2: goes on in a new log" in shown
    assert shown.endswith("Nothing was changed: this is what `restore --apply` would do.\n")
    planned = told("restore", root, *PLACE, code=1)
    (stream,) = planned["streams"]
    assert (stream["state"], stream["last_sequence"], stream["newer_files"]) == ("shorter", 2, 1)
    assert contents(root) == before


def test_what_it_told_is_what_it_does(root: Path, tmp_path: Path) -> None:
    state = replay.run(tmp_path, config(root)).state
    lose_tail(root)
    planned = told("restore", root, code=1)
    assert planned | {"applied": True} == told("restore", root, "--apply")
    assert told("check", root)["clean"]
    assert told("restore", root)["agrees"]
    assert numbers(root, tmp_path) == [1, 2, 3]
    behind = replay.run(tmp_path, config(root), state=state)
    assert behind.code == 1
    assert "StaleBookmark" in behind.log, "it had read further than what is proven"
    land(root, 4)
    assert numbers(root, tmp_path) == [1, 2, 3, 4]


def test_a_catalogue_that_was_left_out_comes_back(root: Path) -> None:
    (folder(root).parent / "catalogue.json").unlink()
    shown = said("restore", root, code=1)
    assert "is made whole again" in shown
    assert shown.endswith("Nothing was changed: this is what `restore --apply` would do.\n")
    (what,) = told("restore", root, "--apply")["documents"]
    assert "missing, and the tap has 2 streams with files" in what
    assert told("check", root)["clean"]
    assert told("restore", root)["agrees"]


def test_a_consumer_of_before_goes_on(root: Path, tmp_path: Path) -> None:
    """It has read what the older manifest has, and gets the rest, once."""
    newest = (folder(root) / "manifest.json").read_bytes()
    lose_tail(root)
    state = replay.run(tmp_path, config(root, streams=[OTHER])).state
    (folder(root) / "manifest.json").write_bytes(newest)
    assert state["bookmarks"][OTHER]["sequence"] == 2
    lose_tail(root)
    said("restore", root, "--apply")
    assert replay.run(tmp_path, config(root, streams=[OTHER]), state=state).code == 0


@pytest.mark.parametrize("code", LOSSES)
def test_what_was_deleted_on_purpose_is_accepted(root: Path, tmp_path: Path, code: str) -> None:
    LOSSES[code](root)
    assert told("restore", root, code=1)["agrees"] is False
    said("restore", root, "--apply")
    assert told("check", root)["clean"]
    assert told("restore", root)["agrees"]
    assert numbers(root, tmp_path) == ([1, 2] if code == "log-shorter" else [])


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("typo",), 2, "no tap 'typo'"),
        ((TAP_ID, "typo"), 2, "no stream 'typo'"),
        (("--stream", STREAM), 2, "--stream needs --tap"),
    ],
)
def test_a_tap_or_stream_that_is_not_there(
    root: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    result = run("restore", root, *arguments)
    assert (result.exit_code, says in " ".join(result.output.split())) == (code, True)


def test_a_lake_that_is_read_only_is_looked_at_and_not_changed(root: Path) -> None:
    lose_tail(root)
    said("read-only", root)
    assert run("restore", root).exit_code == 1
    assert run("restore", root, "--apply").exit_code == 4
