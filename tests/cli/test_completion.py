"""Completion: the shells' scripts, and the names that the lake has."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event

import pytest
from click.shell_completion import ShellComplete

from singerlake import open_lake
from singerlake.cli import commands, complete, main
from tests.cli.lake import EVIL_TAP, TAP, run, said
from tests.servers import S3Server


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str) -> None:
    script = said("completion", shell)
    assert f"_SINGERLAKE_COMPLETE={shell}_complete" in script


def test_other_shells_are_wrong_use() -> None:
    assert run("completion", "cmd").exit_code == 2


def items(*words: str | Path) -> list[tuple[str, str]]:
    *before, last = map(str, words)
    complete = ShellComplete(main, {}, "singerlake", "_SINGERLAKE_COMPLETE")
    return [(item.type, item.value) for item in complete.get_completions(before, last)]


def completed(*words: str | Path) -> list[str]:
    return [value for kind, value in items(*words) if kind == "plain"]


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


def test_the_names_of_commands_are_completed_without_loading_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "import_module", None)
    assert completed("") == sorted(commands.COMMANDS)
    assert completed("--verb") == ["--verbose"]


def test_a_hostile_name_is_not_offered_to_a_shell(built: Path) -> None:
    assert completed("show", built, EVIL_TAP, "") == ["orders"]


def test_a_lake_that_is_not_there_completes_nothing(tmp_path: Path) -> None:
    assert completed("show", tmp_path, "") == []
    assert completed("show", tmp_path, TAP, "") == []


@pytest.mark.parametrize("command", ["ls", "show", "check", "annotate", "project"])
def test_a_root_is_completed_as_a_folder(command: str) -> None:
    assert items(command, "./la") == [("dir", "./la")]


def test_names_are_completed_where_the_root_is_known(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINGERLAKE_ROOT", str(built))
    for command in ("show", "annotate", "ls", "cat"):
        assert completed(command, "tap-s") == [TAP]
        assert ("dir", "tap-s") in items(command, "tap-s")
    assert completed("show", TAP, "") == ["damaged", "empty", "orders"]
    assert completed("show", built, TAP, "o") == ["orders"]
    assert completed("ls", built, "tap-s") == [TAP]
    assert completed("project", "./out", "--tap", "tap-s") == [TAP]
    assert completed("project", "./out", "--tap", TAP, "--stream", "o") == ["orders"]
    assert completed("annotate", TAP, "") == []


def test_a_stream_is_completed_before_its_tap_is_typed(built: Path) -> None:
    assert completed("log", built, "--stream", "") == ["damaged", "empty", "orders"]


def test_storage_options_are_heeded(
    moto_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{moto_server.new_bucket()}/lake"
    file = tmp_path / "options.json"
    file.write_text(json.dumps(moto_server.storage_options()))
    with open_lake(url, create=True, **moto_server.storage_options()).writer(TAP) as writer:
        writer.write(b'{"type": "SCHEMA", "stream": "orders", "schema": {}}')
    monkeypatch.setattr(complete, "PATIENCE", 60.0)
    assert completed("show", "--storage-options", f"@{file}", url, "") == [TAP]
    monkeypatch.setenv("SINGERLAKE_STORAGE_OPTIONS", f"@{file}")
    assert completed("show", url, TAP, "") == ["orders"]
    assert completed("ls", url, "--tap", "") == [TAP]
    assert completed("show", "-o", "novalue", url, "") == []


def test_a_store_that_does_not_answer_holds_nobody_up(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Event()
    monkeypatch.setattr(complete, "_lake", lambda *_: stuck.wait())
    monkeypatch.setattr(complete, "PATIENCE", 0.1)
    assert completed("show", built, "") == []
    stuck.set()
