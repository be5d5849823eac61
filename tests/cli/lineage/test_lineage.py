"""The commands around the proxy: status, check, dead letters, skip, validate; settings; signals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from singerlake.cli import main
from singerlake.lineage.buffer.disk.dead import Done, Refusal
from singerlake.lineage.buffer.disk.event import Stored
from singerlake.lineage.buffer.disk.layout import partition_paths
from tests.lineage.backend import backend
from tests.lineage.buffer.folder import event, fill, opened
from tests.lineage.process import Process
from tests.lineage.samples import numbered, run_event

A, B = "http://a:5000", "http://b:5000"


def run(*words: str, code: int = 0, **settings: str) -> Result:
    environment = {"COLUMNS": None, **settings}
    found = CliRunner(env=environment).invoke(main, ["lineage", *words])
    assert found.exit_code == code, found.output
    return found


def document(*words: str, code: int = 0) -> dict[str, object]:
    found: dict[str, object] = json.loads(run(*words, "--json", code=code).stdout)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two backends: a has three of six events and refused one of them, b has none."""
    folder = tmp_path / "buffer"
    with opened(folder, A, B) as buffer:
        fill(buffer, 6)
        refused = [(Stored(3, 1, event(3)), Refusal(422, "\x1b[31mno [bold]such field"))]
        buffer.advance(A, Done(1, 3, 2, refused))
    return folder


def test_status_shows_how_far_each_backend_is(folder: Path) -> None:
    found = document("status", "--data", str(folder))
    assert (found["last"], found["lost"], found["owner"]) == (6, 0, None)
    keys = ("name", "checkpoint", "waiting", "sent", "dead", "dropped", "head")
    rows = [[one[key] for key in keys] for one in found["destinations"]]  # type: ignore[attr-defined]
    assert rows == [[A, 3, 3, 2, 1, 0, 4], [B, 0, 6, 0, 0, 0, 1]]
    shown = run("status", "--data", str(folder)).stdout
    assert A in shown
    assert "none works on this folder" in shown


def test_status_names_the_proxy_that_works(folder: Path) -> None:
    with opened(folder, A):
        assert "process" in str(document("status", "--data", str(folder))["owner"])


def test_check_finds_what_is_wrong(folder: Path) -> None:
    assert document("check", "--data", str(folder))["events"] == 6
    next(iter(partition_paths(folder).values()))[0].write_bytes(b"")
    found = document("check", "--data", str(folder), code=1)
    assert found["findings"]
    assert "events-" in run("check", "--data", str(folder), code=1).stdout


def test_dead_letters_are_listed_and_asked_for_again(folder: Path) -> None:
    (letter,) = document("dead", "list", "--data", str(folder), "--events")["letters"]  # type: ignore[misc]
    assert (letter["destination"], letter["sequence"], letter["status"]) == (A, 3, 422)
    assert letter["event"] == event(3).decode()
    shown = run("dead", "list", "--data", str(folder), COLUMNS="200").stdout
    assert "\x1b" not in shown
    assert "[bold]such field" in shown
    assert document("dead", "resend", "--data", str(folder), "7")["resend"] == 0
    found = run("dead", "resend", "--data", str(folder), "3")
    assert "1 event will be sent again" in found.stdout
    assert "no proxy works" in found.stderr
    (letter,) = document("dead", "list", "--data", str(folder))["letters"]  # type: ignore[misc]
    assert letter["again"] is True


def test_skip_lets_the_head_go(folder: Path) -> None:
    said = run("skip", "--data", str(folder), code=2)
    assert "--destination" in said.stderr
    assert document("skip", "--data", str(folder), "--destination", A)["sequence"] == 4
    at = ("skip", "--data", str(folder), "--destination", A, "--sequence")
    assert document(*at, "6")["sequence"] == 6
    assert "already" in run(*at, "2", code=2).stderr
    with opened(folder, A) as buffer:
        rows = buffer.state.rows("SELECT sequence FROM skips ORDER BY sequence")
        assert rows == [(4,), (6,)]


@pytest.mark.parametrize("words", [("status",), ("skip",), ("dead", "list"), ("check",)])
def test_a_folder_without_a_buffer_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    assert "--data" in run(*words, "--data", str(tmp_path), code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_validate_takes_an_event_an_array_and_lines(tmp_path: Path) -> None:
    good, bad = json.dumps(run_event()), json.dumps(run_event(eventType="DONE"))
    path = tmp_path / "events"
    path.write_text(good)
    assert document("validate", str(path)) == {
        "events": 1,
        "invalid": 0,
        "verdicts": [{"event": 0, "valid": True, "problems": []}],
    }
    for text in (f"{good}\n{bad}\n", f"[{good}, {bad}]"):
        path.write_text(text)
        found = document("validate", str(path), code=1)
        assert (found["events"], found["invalid"]) == (2, 1)
        assert "event 1: eventType: expected one of" in run("validate", str(path), code=1).stdout
    path.write_text("{")
    assert document("validate", str(path), code=1)["invalid"] == 1


def test_a_backend_is_required_and_has_to_have_a_known_form(tmp_path: Path) -> None:
    words = ("proxy", "--data", str(tmp_path / "b"), "--listen", "127.0.0.1:0")
    assert "--backend" in run(*words, code=2).stderr
    said = run(*words, "--backend", "ftp://secret@x", code=2).stderr
    assert "kafka://" in said
    assert "secret" not in said
    (tmp_path / "file").write_text("")
    at = ("proxy", "--data", str(tmp_path / "file" / "b"), "--backend", A)
    assert "expected a folder" in run(*at, code=2).stderr


@pytest.mark.slow
def test_settings_come_from_a_file_and_the_environment_and_a_second_proxy_is_refused(
    tmp_path: Path,
) -> None:
    with backend() as target:
        (tmp_path / "proxy.json").write_text(json.dumps({"status": "201", "failed": "log"}))
        process = Process(
            tmp_path / "buffer",
            [],
            "--config",
            str(tmp_path / "proxy.json"),
            environment={"SINGERLAKE_LINEAGE_BACKEND": target.url, "OPENLINEAGE_API_KEY": "k3y"},
        )
        assert process.post(numbered(0, 0))[0] == 201
        target.wait_for(1)
        assert target.headers[0]["Authorization"] == "Bearer k3y"
        words = ("proxy", "--data", str(tmp_path / "buffer"), "--backend", target.url)
        said = run(*words, "--listen", "127.0.0.1:0", code=4).stderr
        assert f"process {process.pid}" in said
        assert process.stop() == 0  # SIGTERM is no failure
        assert not list((tmp_path / "buffer").glob("*-wal"))  # closed, not cut off
