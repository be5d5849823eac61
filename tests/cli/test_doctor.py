"""`doctor`: is a store fit for a lake?"""

from __future__ import annotations

import fcntl
import tempfile
from pathlib import Path

import pytest

from singerlake.cli.credentials import credentials
from singerlake.errors import PermissionDenied
from singerlake.lake.scratch import temporary_folder
from singerlake.store import LocalStore, folder_trial
from tests.cli.lake import contents, run, said, told
from tests.nobody import run_as_nobody


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders go: other tests kill processes, which leave theirs."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.usefixtures("scratch")
def test_a_sound_store_is_told_to_be_so(root: Path) -> None:
    before = contents(root)
    shown = said("doctor", root)
    assert "ok  race to replace" in shown
    assert "2 taps in its document" in shown
    assert "versions  python " in shown
    found = told("doctor", root)
    assert found["ok"] is True
    assert {answer["status"] for answer in found["answers"]} == {"ok"}
    assert found["versions"]["singerlake"]
    assert contents(root) == before


def test_an_empty_folder_will_do_and_a_missing_one_is_not_made(tmp_path: Path) -> None:
    assert "none here yet" in said("doctor", tmp_path)
    missing = tmp_path / "missing"
    assert "there is no such folder" in said("doctor", missing, code=1)
    assert not missing.exists()


def test_a_folder_that_cannot_be_entered_is_told_to_be_so(tmp_path: Path) -> None:
    """A first run loads what nobody may not be allowed to load."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    command = (
        "import sys\n"
        "from singerlake.cli import main\n"
        "main(['doctor', sys.argv[{}]], standalone_mode=False)"
    )
    done = run_as_nobody(command.format(1), command.format(2), tmp_path, closed / "lake")
    assert "Traceback" not in done.stderr
    answers = done.stdout.split("versions")[1]
    assert "failed  reach" in answers
    # However it is folded: a long path is broken anywhere.
    assert f"nopermissionfor{closed / 'lake'}" in "".join(answers.split())


def test_what_does_not_work_is_told_and_ends_with_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> str:
        raise PermissionDenied("not \x1b[31myours")

    monkeypatch.setattr(LocalStore, "create", refuse)
    rows = [line.split() for line in said("doctor", root, code=1).splitlines()]
    assert ["failed", "write", "not", "\\x1b[31myours"] in rows
    found = told("doctor", root, code=1)
    assert (found["ok"], found["answers"][-1]["status"]) == (False, "failed")
    assert told("doctor", root, "--read-only")["ok"]


def test_a_store_that_does_not_answer_is_not_waited_for() -> None:
    options = '{"key": "k", "secret": "hush-hush", "client_kwargs": {"endpoint_url": "http://127.0.0.1:9"}}'
    result = run("doctor", "s3://bucket/lake", "--storage-options", options)
    assert result.exit_code == 1
    assert "failed" in result.stdout
    assert "storage option secret" in result.stdout
    assert "hush-hush" not in result.output


def test_credentials_are_named_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("hush")
    environment = {"AWS_SECRET_ACCESS_KEY": "hush", "AWS_PROFILE": "", "HOME": "x"}
    found = list(credentials("s3a://bucket", {"token": "hush"}, environment, tmp_path))
    assert found == ["storage option token", "$AWS_SECRET_ACCESS_KEY", "~/.aws/credentials"]
    assert list(credentials("./lake", {}, environment, tmp_path)) == []


def test_no_home_is_told_to_hold_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    assert told("doctor", root, "--read-only")["credentials"] == []
    for home in (None, Path("x" * 300)):  # the second may not even be asked for
        assert list(credentials("s3://bucket", {}, {}, home)) == []


@pytest.mark.parametrize("where", ["the system's folder", "the lake's"])
def test_folders_that_a_killed_process_left_are_reported(
    root: Path, scratch: Path, where: str
) -> None:
    own = LocalStore(root).own_folder
    own.mkdir(parents=True, exist_ok=True)
    left = temporary_folder(scratch if where == "the system's folder" else own)
    Path(left.name, "1").write_bytes(b"x" * 2000)
    assert told("doctor", root, "--read-only")["answers"][0]["status"] == "ok"
    assert left._let_go is not None
    left._let_go()  # as when its process dies
    answer = told("doctor", root, "--read-only")["answers"][0]
    assert answer["status"] == "weak"
    assert "killed processes left 1 folder with 2.0 kB" in answer["told"]
    assert Path(left.name, "1").exists()
    left.cleanup()


@pytest.mark.usefixtures("scratch")
def test_a_folder_whose_locks_hold_nobody_is_told_to_be_weak(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_trial, "_known", {})
    monkeypatch.setattr(fcntl, "flock", lambda handle, operation: None)
    found = {answer["what"]: answer for answer in told("doctor", root)["answers"]}
    assert "do not hold between processes" in found["oddities"]["told"]
    assert (found["oddities"]["status"], found["promise"]["status"]) == ("weak", "weak")
    assert "--meet 30" in found["other hosts"]["told"]


@pytest.mark.usefixtures("scratch")
def test_nothing_is_written_to_a_lake_that_is_read_only(root: Path) -> None:
    said("read-only", root, "--reason", "legal hold")
    before = contents(root)
    answers = told("doctor", root)["answers"]
    assert (answers[-1]["what"], answers[-1]["status"]) == ("writing", "weak")
    assert "legal hold" in answers[-1]["told"]
    assert contents(root) == before


@pytest.mark.usefixtures("scratch")
def test_a_meeting_to_which_nobody_comes_is_no_answer(root: Path) -> None:
    answers = told("doctor", root, "--meet", "0.1", code=1)["answers"]
    assert answers[-1]["what"] == "meeting"
    assert "nobody else was there" in answers[-1]["told"]
