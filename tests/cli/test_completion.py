"""Completion: the shells' scripts, and the names that the lake has."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from singerlake.cli import main
from tests.cli.lake import EVIL_TAP, TAP, run, said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str) -> None:
    script = said("completion", shell)
    assert f"_SINGERLAKE_COMPLETE={shell}_complete" in script


def test_other_shells_are_wrong_use() -> None:
    assert run("completion", "cmd").exit_code == 2


def completed(*words: str | Path) -> list[str]:
    *before, last = map(str, words)
    complete = ShellComplete(main, {}, "singerlake", "_SINGERLAKE_COMPLETE")
    return [item.value for item in complete.get_completions(before, last)]


def test_commands_taps_and_streams_are_completed(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert completed("d") == ["demo", "diff", "doctor", "du"]
    assert completed("show", built, "tap") == [TAP]
    assert completed("show", built, TAP, "") == ["damaged", "empty", "orders"]
    assert completed("ls", built, "--tap", "") == [TAP]
    assert completed("check", built, "--tap", TAP, "--stream", "o") == ["orders"]
    monkeypatch.setenv("SINGERLAKE_ROOT", str(built))
    assert completed("log", "--tap", "tap-s") == [TAP]


def test_a_hostile_name_is_not_offered_to_a_shell(built: Path) -> None:
    assert completed("show", built, EVIL_TAP, "") == ["orders"]


def test_a_lake_that_is_not_there_completes_nothing(tmp_path: Path) -> None:
    assert completed("show", tmp_path, "") == []
    assert completed("show", tmp_path, TAP, "") == []
