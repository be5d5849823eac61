"""`singerlake land`: whoever is killed, the run says what happened, and no load looks whole that
is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.scale import scaled
from tests.runs.loads import BETWEEN, MOMENTS, QUICK, load, rows_of, runs_of
from tests.target.driving import TAP_ID, environment, land
from tests.zygote import PATIENCE

ALL = list(range(8))
TAP = Path(__file__).with_name("tap.py")


def command(
    root: Path, folder: Path, first: int, *tap: str, more: tuple[str, ...] = ()
) -> list[str]:
    """`singerlake land` with our tap and a load; `tap` is how many lines, and how it ends."""
    lines, config = folder / "lines", folder / "config.json"
    lines.write_text("".join(f"{line}\n" for line in load(first)))
    config.write_text(json.dumps(QUICK))
    words = [str(root), TAP_ID, "--config", str(config), *more]
    started = [sys.executable, "-S", "-E", str(TAP), str(lines), *tap]
    return [sys.executable, "-m", "singerlake.cli", "land", *words, "--", *started]


def landed(root: Path, folder: Path, first: int, *tap: str) -> subprocess.CompletedProcess[str]:
    """A whole run of the command."""
    return subprocess.run(
        command(root, folder, first, *tap),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@contextmanager
def started(root: Path, folder: Path, count: int) -> Iterator[subprocess.Popen[bytes]]:
    """The command while its tap waits, after so many lines, until somebody kills it."""
    there = folder / "there"
    process = subprocess.Popen(
        command(root, folder, 100, str(count), "wait", str(there)),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not there.exists():
            assert process.poll() is None
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def child(process: subprocess.Popen[bytes], script: str) -> int:
    """The number of the child that was started with this word."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        for pid in map(int, text.split()):
            if script.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        time.sleep(0.02)
    raise AssertionError(f"no child {script}")


def with_a_load(root: Path) -> Path:
    land(load(0), root, **QUICK)
    return root


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def test_a_tap_that_finishes_is_complete_also_without_a_state(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    done = landed(root, tmp_path, 0, "10", "exit", "0")
    assert done.returncode == 0, done.stderr
    (run,) = runs_of(root)
    assert (run.outcome, run.exit_code, run.records) == ("complete", 0, 8)
    assert rows_of(root, "orders") == ALL
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "bookmarks": {},
        "currently_syncing": "orders",
    }


@pytest.mark.slow
@pytest.mark.parametrize("count", scaled([BETWEEN, MOMENTS], [*range(MOMENTS + 1)]))
@pytest.mark.parametrize("end", [("exit", "1"), ("kill",)], ids=["exits 1", "is killed"])
def test_a_tap_that_fails_is_never_complete(
    tmp_path: Path, count: int, end: tuple[str, ...]
) -> None:
    """Also after its last record, after its last STATE, and between two streams."""
    root = with_a_load(tmp_path / "lake")
    done = landed(root, tmp_path, 100, str(count), *end)
    assert done.returncode == (1 if end[0] == "exit" else 137), done.stderr
    run = runs_of(root)[-1]
    assert (run.outcome, run.exit_code) == ("failed", 1 if end[0] == "exit" else -9)
    assert rows_of(root, "orders") == ALL


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("count", scaled([BETWEEN], [*range(MOMENTS + 1)]))
@pytest.mark.parametrize("both", [False, True], ids=["the target", "both"])
def test_a_target_that_is_killed_leaves_no_document(tmp_path: Path, count: int, both: bool) -> None:
    root = with_a_load(tmp_path / "lake")
    with started(root, tmp_path, count) as process:
        target = child(process, "target_singerlake")
        if count > 6:
            assert process.stdout is not None
            assert process.stdout.readline()
        os.kill(target, signal.SIGKILL)
        if both:
            os.kill(child(process, "tap.py"), signal.SIGKILL)
        assert process.wait(PATIENCE) == 137
    unended = [run for run in runs_of(root) if not run.document]
    assert [run.outcome for run in unended] == ["open"] * (count > 6)
    assert rows_of(root, "orders") == ALL


@pytest.mark.slow
@on_linux
def test_land_that_is_killed_did_not_see_the_tap_end(tmp_path: Path) -> None:
    root = with_a_load(tmp_path / "lake")
    with started(root, tmp_path, MOMENTS) as process:
        tap = child(process, "tap.py")
        child(process, "target_singerlake")
        process.kill()
        process.wait(PATIENCE)
        os.kill(tap, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while len([run for run in runs_of(root) if run.document]) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert runs_of(root)[-1].outcome == "ended"
    assert rows_of(root, "orders") == ALL


@pytest.mark.slow
@on_linux
def test_a_signal_reaches_both_and_stops_the_run(tmp_path: Path) -> None:
    root = with_a_load(tmp_path / "lake")
    with started(root, tmp_path, BETWEEN) as process:
        assert process.stdout is not None
        assert process.stdout.readline()  # the target is at work
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143
    assert runs_of(root)[-1].outcome == "stopped"
    assert rows_of(root, "orders") == ALL
