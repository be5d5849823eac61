"""Handlers of failed events: a log, a file that is rotated, both, one of a user's own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from singerlake.errors import ConfigError
from singerlake.http.client import ClientOptions
from singerlake.lineage.proxy.failed import FileHandler, LogHandler, Several, open_handler
from singerlake.lineage.schema.problem import Problem
from singerlake.lineage.schema.validator import Validator
from singerlake.lineage.transport.file import FileTransport
from tests.lineage.buffer.folder import Clock
from tests.lineage.proxy.running import running
from tests.lineage.samples import run_event

IMPATIENT = ClientOptions(read_seconds=0.2)
GOOD = json.dumps(run_event()).encode()
BAD = json.dumps(run_event(eventType="DONE")).encode()


def test_the_dead_letter_file_is_rotated(tmp_path: Path) -> None:
    handler = FileHandler(tmp_path / "failed", file_bytes=1000, files=3)
    for number in range(30):
        handler.handle(b'{"n": %d}' % number, [Problem("run", "expected a value")])
    handler.close()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["failed", "failed.1", "failed.2"]
    rows = [
        json.loads(line)
        for name in reversed(files)
        for line in (tmp_path / name).read_text().splitlines()
    ]
    assert [json.loads(row["event"])["n"] for row in rows] == list(range(30 - len(rows), 30))
    assert rows[0]["problems"] == [{"path": "run", "message": "expected a value"}]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())
    assert (tmp_path / "failed").stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_rotated_now_writes_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a file that was closed may be a partition's by then: too many are open."""
    handler = FileHandler(tmp_path / "failed", file_bytes=300)
    problems = [Problem("run", "expected a value")]
    handler.handle(b"a" * 200, problems)

    def refuses(*arguments: object) -> int:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(FileHandler, "_opened", refuses)
        with pytest.raises(OSError, match="Too many"):
            handler.handle(b"b", problems)
        with (tmp_path / "partition").open("w") as other:
            with pytest.raises(OSError, match="Too many"):
                handler.handle(b"c", problems)
            assert other.tell() == 0
        assert (tmp_path / "partition").read_bytes() == b""
    handler.handle(b"d", problems)
    handler.close()
    assert '"event": "d"' in (tmp_path / "failed").read_text()


def test_a_row_that_does_not_fit_on_the_disk_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, write = FileHandler(tmp_path / "failed"), os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda number, data: write(number, data[:20]))
        with pytest.raises(OSError, match="no room"):
            handler.handle(b"a", [])
    handler.handle(b"b", [])
    handler.close()
    (row,) = (tmp_path / "failed").read_text().splitlines()
    assert json.loads(row)["event"] == "b"


def test_the_log_has_the_reasons_and_not_the_event(caplog: pytest.LogCaptureFixture) -> None:
    LogHandler().handle(b"s3cret", [Problem("run.runId", "expected the format uuid")])
    assert "run.runId: expected the format uuid" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_flood_of_bad_events_is_logged_in_part_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    handler = LogHandler(clock)
    for _ in range(500):
        handler.handle(b"{}", [Problem("run", "expected a value")])
    clock.passed = 2.0
    handler.handle(b"{}", [Problem("run", "expected a value")])
    lines = caplog.text.splitlines()
    assert len(lines) < 70
    assert any("more events broke the spec" in line for line in lines)


def test_a_handler_of_ones_own_is_found_by_its_path(tmp_path: Path) -> None:
    assert isinstance(open_handler("both", tmp_path), Several)
    made = open_handler("tests.lineage.proxy.running:Kept", tmp_path)
    made.handle(b"x", [])
    for wrong in ("nothing", "nowhere.at.all:x", "json:dumps", "os:getcwd"):
        with pytest.raises(ConfigError, match=wrong.partition(":")[0]):
            open_handler(wrong, tmp_path)


def test_a_handler_that_fails_costs_the_sender_nothing(
    tmp_path: Path, validator: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, validator, FileTransport(tmp_path / "out")) as one:

        def fail(*_: object) -> None:
            raise RuntimeError("a fault of the handler")

        monkeypatch.setattr(one.failed, "handle", fail)
        assert one.post(BAD) == 400
        assert one.post(GOOD) == 200
