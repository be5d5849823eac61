"""What a lake knows of and does not have ends the real tap with an error, with a state or without.

The lake is filled by the real target: its runs say how far each log had come.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.lake import run as singerlake
from tests.cli.lake import told
from tests.tap.replay import STREAM, TAP_ID, Message, config, record, run, schema, stream_keys
from tests.target import driving

pytestmark = pytest.mark.usefixtures("door")

OTHER = "refunds"
Loss = Callable[[Path], None]


def land(root: Path, *numbers: int) -> None:
    """A run of the target, with a commit for each record of one stream, and one of another."""
    states = [{"type": "STATE", "value": {"at": number}} for number in numbers]
    lines = [schema(), schema(stream=OTHER), record(0, OTHER)]
    for number, state in zip(numbers, states, strict=True):
        lines += [record(number), json.dumps(state).encode()]
    driving.land(lines, root, tap_id=TAP_ID, max_file_records=1)


def folder(root: Path, stream: str = STREAM) -> Path:
    return root / stream_keys(stream).folder


def lose_tap(root: Path) -> None:
    shutil.rmtree(folder(root).parent)


def lose_stream(root: Path) -> None:
    shutil.rmtree(folder(root))


def lose_tail(root: Path) -> None:
    shutil.copy(root.parent / "older.json", folder(root) / "manifest.json")


def lose_tail_and_its_files(root: Path) -> None:
    lose_tail(root)
    named = (folder(root) / "manifest.json").read_text()
    for path in folder(root).rglob("*.singer.gz"):
        if path.name not in named:
            path.unlink()


LOSSES: dict[str, Loss] = {
    "tap-missing": lose_tap,
    "stream-missing": lose_stream,
    "log-shorter": lose_tail_and_its_files,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "lake"
    land(root, 1, 2)
    shutil.copy(folder(root) / "manifest.json", tmp_path / "older.json")
    land(root, 3)
    return root


@pytest.fixture
def state(root: Path, tmp_path: Path) -> Message:
    """That of a consumer that has read all of it."""
    return run(tmp_path, config(root)).state


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("code", LOSSES)
def test_the_tap_fails_and_says_what_to_do(
    root: Path, tmp_path: Path, state: Message, code: str, has_state: bool, door: str
) -> None:
    LOSSES[code](root)
    done = run(tmp_path, config(root), state=state if has_state else None)
    assert done.code == 1
    assert "MissingCommits" in done.log
    assert "--apply` accepts what there is" in done.log
    assert "Traceback" not in done.log
    assert not [one for one in done.of("RECORD") if one["stream"] == STREAM]


@pytest.mark.parametrize("code", LOSSES)
def test_check_and_ls_say_so_too(root: Path, code: str) -> None:
    assert told("check", root)["clean"]
    LOSSES[code](root)
    found = told("check", root, code=1)["findings"]
    assert [one["code"] for one in found if one["level"] == "error"] == [code]
    assert code == "log-shorter" or "--apply" in found[0]["message"]
    if code != "log-shorter":  # of which ls reads the manifest alone
        assert singerlake("ls", root).exit_code == 3
        assert singerlake("show", root, TAP_ID, STREAM).exit_code == 3


@pytest.mark.parametrize("code", LOSSES)
def test_the_pages_say_so_too(root: Path, tmp_path: Path, code: str) -> None:
    LOSSES[code](root)
    out = tmp_path / "site"
    built = singerlake("site", "build", root, "--out", out, "--check")
    assert built.exit_code == 0, built.output
    assert code in (out / "problems.html").read_text()


@pytest.mark.parametrize("code", LOSSES)
def test_a_rebuild_accepts_it_and_the_tap_goes_on(
    root: Path, tmp_path: Path, state: Message, code: str
) -> None:
    LOSSES[code](root)
    before = told("rebuild", root)
    assert before["missing"]
    assert told("rebuild", root, "--apply")["missing"] == before["missing"]
    assert told("check", root)["clean"]
    assert run(tmp_path, config(root)).code == 0


def test_a_stream_that_never_had_a_record_is_no_loss(tmp_path: Path, door: str) -> None:
    root = tmp_path / "lake"
    driving.land([schema(), schema(stream=OTHER), record(0, OTHER)], root, tap_id=TAP_ID)
    driving.land([], root, tap_id="tap-idle--tests")
    assert told("check", root)["clean"]
    assert run(tmp_path, config(root)).code == 0
    assert run(tmp_path, config(root) | {"tap_id": "tap-idle--tests"}).code == 0
