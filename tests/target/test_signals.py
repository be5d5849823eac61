"""SIGTERM, SIGINT, and a reader that has gone: what came is committed."""

from __future__ import annotations

import io
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_singerlake.target import TargetSingerlake
from tests.target.driving import (
    PATHS,
    TAP_ID,
    assert_clean,
    listen,
    numbers,
    patched,
    record,
    run,
    schema,
    shell,
    started,
    state,
    text,
)
from tests.zygote import PATIENCE

pytestmark = pytest.mark.usefixtures("door")

SLOW_COMMIT = """
import time
from singerlake.store import LocalStore
create = LocalStore.create
def slow(self, key, *rest):
    if key.endswith(".singer.gz"):
        print("uploading", flush=True)
        time.sleep(3600)
    return create(self, key, *rest)
LocalStore.create = slow
"""


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_commits_what_came_prints_the_last_state_and_exits_as_stopped(
    number: signal.Signals, path: dict[str, Any], tmp_path: Path
) -> None:
    with started(tmp_path, commit_interval_seconds=3600, **path) as running:
        running.send(schema("s"), record("s", 1), state({"at": 1}), record("s", 2))
        running.send(state({"at": 2}), record("s", 3))
        running.wait_for_log("Landing")
        running.send_bytes(b'{"type": "RECORD", "stream": "s", "rec')
        _wait_until_read(running.input.fileno())
        running.process.send_signal(number)
        outcome = running.wait()
    assert outcome.code == 128 + number, outcome.log
    assert [json.loads(each) for each in outcome.states] == [{"at": 2}]
    assert numbers(tmp_path, "s") == [1, 2, 3]
    assert "Traceback" not in outcome.log
    assert_clean(tmp_path)


def _wait_until_read(descriptor: int) -> None:
    """Until nothing is left in the pipe."""
    import array
    import fcntl
    import termios
    import time

    waiting = array.array("i", [1])
    while waiting[0]:
        fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
        time.sleep(0.01)
    time.sleep(0.2)  # what was read is dealt with after a short wait for more


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_stops_at_once_though_the_store_hangs(
    number: signal.Signals, tmp_path: Path
) -> None:
    with started(tmp_path, command=patched(SLOW_COMMIT)) as running:
        running.send(schema("s"), record("s", 1), state({"at": 1}))
        running.wait_for_log("Landing")
        _wait_until_read(running.input.fileno())
        running.process.send_signal(number)
        assert running.next_state() == b"uploading"
        running.process.send_signal(number)
        outcome = running.wait()
    assert outcome.code == 128 + number
    assert outcome.states == []
    assert "Traceback" not in outcome.log


def test_a_signal_during_the_last_commit_does_not_disturb_it(tmp_path: Path) -> None:
    """It is a stop all the same: the tap may have died of the same signal a moment before."""
    slow = SLOW_COMMIT.replace("3600", "1")
    with started(tmp_path, command=patched(slow)) as running:
        running.send(schema("s"), record("s", 1), state({"at": 1}))
        running.input.close()
        assert running.next_state() == b"uploading"
        running.process.send_signal(signal.SIGTERM)
        outcome = running.wait()
    stopped = 128 + signal.SIGTERM
    assert (outcome.code, outcome.states) == (stopped, [b'{"at": 1}']), outcome.log
    assert numbers(tmp_path, "s") == [1]


def test_a_hangup_that_nohup_has_ignored_stops_nothing(tmp_path: Path) -> None:
    with started(tmp_path, command=shell('trap "" HUP; exec "$@"')) as running:
        running.send(schema("s"), record("s", 1), state({"at": 1}))
        running.wait_for_log("Landing")
        running.process.send_signal(signal.SIGHUP)
        running.send(record("s", 2), state({"at": 2}))
        outcome = running.end()
    assert (outcome.code, outcome.states) == (0, [b'{"at": 2}']), outcome.log


def test_a_broken_stdout_is_not_a_lost_commit(tmp_path: Path, path: dict[str, Any]) -> None:
    with started(tmp_path, commit_interval_seconds=0.1, **path) as running:
        running.output.close()
        for number in range(3):
            running.send(schema("s"), record("s", number), state({"at": number}))
            running.wait_for_log("nobody reads the STATE any more")
        running.input.close()
        code = running.process.wait()
        log = running.log()
    assert code == 0, log
    assert numbers(tmp_path, "s") == [0, 1, 2]
    assert "Traceback" not in log
    assert "BrokenPipeError" not in log
    assert log.count("nobody reads the STATE any more") == 1
    assert_clean(tmp_path)


def test_a_stdout_that_was_never_open_keeps_no_record_back(
    tmp_path: Path, path: dict[str, Any]
) -> None:
    closed = shell('exec "$@" >&-')
    with started(tmp_path, command=closed, commit_interval_seconds=0.2, **path) as running:
        running.send(schema("s"), record("s", 1), state({"at": 1}))
        running.wait_for_log("nobody reads the STATE any more (stdout is closed)")
        running.send(record("s", 2), state({"at": 2}))
        outcome = running.end()
    assert outcome.code == 0
    assert "Traceback" not in outcome.log
    assert numbers(tmp_path, "s") == [1, 2]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_state_that_cannot_be_written_is_told_and_its_records_are_committed(
    tmp_path: Path, path: dict[str, Any]
) -> None:
    lines = [schema("s"), record("s", 1), state({"at": 1})]
    outcome = run(lines, tmp_path, command=shell('exec "$@" >/dev/full'), **path)
    assert "the STATE cannot be written to stdout" in outcome.refused()
    assert numbers(tmp_path, "s") == [1]
    assert_clean(tmp_path)


def test_a_signal_while_the_target_is_made_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(target: TargetSingerlake) -> None:
        target._handle_termination(signal.SIGTERM, None)

    monkeypatch.setattr(TargetSingerlake, "setup_mapper", interrupted)
    config = {"lake_root": "memory://interrupted", "tap_id": TAP_ID}
    source = io.BytesIO(text([schema("s"), record("s", 1), state({"at": 1})]))
    with pytest.raises(SystemExit) as end:
        listen(TargetSingerlake(config=config), source)
    assert end.value.code == 128 + signal.SIGTERM
    assert source.tell() == 0


def test_a_tap_that_dies_leaves_what_came_committed(tmp_path: Path) -> None:
    with started(tmp_path) as running:
        running.send(schema("s"), record("s", 1), state({"at": 1}))
        os.close(os.dup(running.input.fileno()))
        outcome = running.end()
    assert (outcome.code, outcome.states) == (0, [b'{"at": 1}'])
    assert numbers(tmp_path, "s") == [1]


def test_the_next_run_removes_what_a_killed_run_left(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    scratch = root / ".singerlake-tmp"
    noise = [os.urandom(60_000).hex() for _ in range(20)]
    with started(root) as killed, started(root) as living:
        for running in (killed, living):
            running.send(schema("s"), *(record("s", 1, noise=each) for each in noise))
        _until(lambda: len([*scratch.glob("singerlake-*/files/*")]) == 2)
        killed.process.kill()
        killed.process.wait()
        outcome = run([schema("s"), record("s", 2)], root)
        assert "which a killed process left" in outcome.log
        assert len([*scratch.glob("singerlake-*")]) == 1
        assert living.end().code == 0
    assert [*scratch.glob("singerlake-*")] == []


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
