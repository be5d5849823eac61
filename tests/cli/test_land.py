"""`singerlake land`: what it says about wrong use, and what it keeps of STATE."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from singerlake.cli.tap_version import tap_version
from singerlake.lake import open_lake
from tests.cli.lake import run

LINES = [
    {"type": "SCHEMA", "stream": "s", "schema": {"type": "object", "properties": {}}},
    {"type": "RECORD", "stream": "s", "record": {"id": 1}},
    {"type": "STATE", "value": {"at": 1}},
]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Missing -- and the command"),
        (("--",), "Missing -- and the command"),
        (("--", "no-such-tap-anywhere"), "'no-such-tap-anywhere' cannot be started"),
    ],
)
def test_wrong_use(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    result = run("land", tmp_path / "lake", "tap-x", *words)
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "lake").exists()


def test_the_newest_state_is_in_the_file(tmp_path: Path) -> None:
    lines, state = tmp_path / "lines", tmp_path / "state.json"
    lines.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    state.write_text("older")
    given = ("--tap", "tap-x", "--state", state)
    result = run("land", *given, "--", "cat", lines, SINGERLAKE_ROOT=str(tmp_path))
    assert result.exit_code == 0, result.output
    assert json.loads(state.read_text()) == {"at": 1}
    (made,) = open_lake(tmp_path).tap("tap-x").runs()
    assert (made.outcome, made.exit_code, made.records) == ("complete", 0, 1)


def test_a_state_that_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    lines, state = tmp_path / "lines", tmp_path / "no such folder" / "state.json"
    lines.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    result = run("land", tmp_path / "lake", "tap-x", "--state", state, "--", "cat", lines)
    assert result.exit_code == 2
    assert "the STATE cannot be written to" in " ".join(result.output.split())


def test_storage_options_reach_the_target(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run("land", tmp_path, "tap-x", "-o", "auto_mkdir=true", "--", "cat", "/dev/null")
    assert result.exit_code == 1
    assert "a local folder, which takes no storage_options (auto_mkdir)" in capfd.readouterr().err


def test_the_version_of_a_tap_is_read_beside_its_command() -> None:
    assert tap_version(str(Path(sys.executable).with_name("tap-singerlake")))
    assert tap_version("cat") == tap_version("no-such-tap-anywhere") == ""
