"""Processors as processes: signals, Python's lock, and power cuts."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from singerlake.processor import Event, Processor, open_engine
from tests.forking import fork
from tests.processor.running import LONG, running, until


def hold_the_lock(url: str, folder: Path) -> None:
    """A job that keeps every other thread of its process from running, the renewal too."""
    engine = open_engine(url)

    def job(event: Event) -> None:
        (folder / "began").touch()
        ctypes.PyDLL(None).usleep(3_000_000)  # without letting go of Python's lock

    processor = Processor(engine, job, concurrency=1, lease=0.5)

    def report() -> None:
        until(lambda: processor.observer.counts["fenced"])
        (folder / "fenced").touch()
        processor.stop()

    threading.Thread(target=report, daemon=True).start()
    processor.run()


def block(url: str, folder: Path) -> None:
    def job(event: Event) -> None:
        (folder / "began").touch()
        time.sleep(600)

    Processor(open_engine(url), job, grace=0.1).run()
    (folder / "ended").touch()


@pytest.mark.slow
def test_a_job_that_holds_pythons_lock_is_fenced_and_reported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/work.db?synchronous=normal"
    engine, seen = open_engine(url), []
    engine.add("k", 1)
    process = fork.Process(target=hold_the_lock, args=(url, tmp_path), daemon=True)
    process.start()
    until((tmp_path / "began").exists)
    with running(Processor(engine, seen.append, lease=60)):
        until(lambda: len(seen) == 1)
        until((tmp_path / "fenced").exists)
    process.join(LONG)
    assert process.exitcode == 0
    assert len(seen) == 1
    assert seen[0].deliveries == 2


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_frees_keys_at_once_and_counts_no_attempt(tmp_path: Path, number: int) -> None:
    url = f"sqlite:///{tmp_path}/work.db?synchronous=normal"
    engine = open_engine(url)
    engine.add("k", 1)
    process = fork.Process(target=block, args=(url, tmp_path), daemon=True)
    process.start()
    until((tmp_path / "began").exists)
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(LONG)
    assert process.exitcode == 0
    assert (tmp_path / "ended").exists()
    state = engine.look("k")
    assert (state.status, state.deliveries, state.waiting) == ("ready", 0, 1)


def test_one_stuck_key_holds_up_no_other(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/work.db?synchronous=normal")
    stuck, let_go, seen = threading.Event(), threading.Event(), []

    def job(event: Event) -> None:
        if event.key == "stuck":
            stuck.set()
            let_go.wait(LONG)
        seen.append(event.key)

    engine.add_many("stuck", [1, 2])
    with running(Processor(engine, job, concurrency=2)):
        assert stuck.wait(LONG)
        for number in range(300):
            engine.add(f"k{number}", 1)
        until(lambda: len(seen) == 300)
        assert "stuck" not in seen
        let_go.set()
        until(lambda: len(seen) == 302)


def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Images of the disk as a cut leaves them: what was synced whole, and any part of the rest."""
    path = tmp_path / "work.db"
    engine = open_engine(f"sqlite:///{path}")
    synced: list[int] = []
    for number in range(30):
        engine.add("k", number)
        synced.append(_wal(path).stat().st_size)
    for number in range(29):
        for size in {synced[number], (synced[number] + synced[number + 1]) // 2}:
            image = _image(path, tmp_path / f"{number}-{size}", size)
            assert len(open_engine(f"sqlite:///{image}").peek("k", 100)) >= number + 1
    # The control: an image without the last synced bytes has lost something.
    image = _image(path, tmp_path / "control", synced[10] - 1)
    assert len(open_engine(f"sqlite:///{image}").peek("k", 100)) < 11


def test_the_embedded_engine_syncs_every_commit_by_default(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/work.db")
    connection: sqlite3.Connection = engine.database.connection()  # type: ignore[attr-defined]
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _image(path: Path, folder: Path, size: int) -> Path:
    folder.mkdir()
    shutil.copy(path, folder)
    shutil.copy(_wal(path), folder)
    os.truncate(folder / _wal(path).name, size)
    return folder / path.name
