"""Temporary folders: a killed process's folder goes, a living one's stays."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from singerlake.lake import scratch
from singerlake.lake.scratch import leftovers, sweep, temporary_folder

HOLD = """
import sys
from pathlib import Path
from singerlake.lake.scratch import temporary_folder
folder = temporary_folder(Path(sys.argv[1]))
Path(folder.name, "1").write_bytes(b"x" * 1000)
print(folder.name, flush=True)
sys.stdin.read()
"""


def holder(within: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process that has a folder there."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(within)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays(
    tmp_path: Path,
) -> None:
    (living, kept), (killed, left) = holder(tmp_path), holder(tmp_path)
    try:
        assert leftovers(tmp_path) == []
        killed.kill()
        killed.wait()
        assert [each.path for each in leftovers(tmp_path)] == [left.parent]
        assert leftovers(tmp_path)[0].bytes >= 1000
        with temporary_folder(tmp_path):
            assert kept.is_dir()
            assert not left.parent.exists()
        living.send_signal(signal.SIGSTOP)  # who sleeps is not dead
        sweep(tmp_path)
        assert kept.is_dir()
        living.send_signal(signal.SIGCONT)
    finally:
        for process in (living, killed):
            process.kill()
            process.communicate()
    sweep(tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_a_closed_folder_is_gone(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as name:
        assert [*Path(name).iterdir()] == []
    assert [*tmp_path.iterdir()] == []


def test_what_is_not_surely_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "singerlake-without-a-lock").mkdir()
    (tmp_path / "singerlake-file").write_bytes(b"")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").write_bytes(b"")
    (tmp_path / "singerlake-link").symlink_to(elsewhere)
    linked = tmp_path / "singerlake-linked-lock"
    linked.mkdir()
    (linked / "lock").symlink_to(elsewhere / "lock")
    before = sorted(tmp_path.rglob("*"))
    sweep(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_folder_of_another_user_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, left = holder(tmp_path)
    killed.kill()
    killed.communicate()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 4711)
        sweep(tmp_path)
    assert left.is_dir()


def test_the_folder_of_another_machine_goes_after_a_day_without_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared disk may not show its lock."""
    killed, left = holder(tmp_path)
    killed.kill()
    killed.communicate()
    (left.parent / scratch.LOCK).write_text("another-machine")
    sweep(tmp_path)
    assert left.is_dir()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    sweep(tmp_path)
    assert not left.exists()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts what /proc shows")
def test_a_folder_that_nobody_cleans_up_leaves_no_open_file(tmp_path: Path) -> None:
    def opened() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    gc.collect()
    before = opened()
    folder = temporary_folder(tmp_path)
    assert opened() > before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del folder
        gc.collect()
    assert opened() == before
    assert list(tmp_path.iterdir()) == []
