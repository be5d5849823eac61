"""The lock file of a local lake: threads and processes take turns."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from singerlake.store import turn

HOLD = """
import sys
from pathlib import Path
from singerlake.store import turn
with turn.taken(Path(sys.argv[1]), 10):
    print("held", flush=True)
    sys.stdin.read()
"""
COUNT = """
import sys
from pathlib import Path
from singerlake.store import turn
path, number = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(50):
    with turn.taken(path, 60):
        number.write_text(str(int(number.read_text()) + 1))
"""

pytestmark = pytest.mark.skipif(turn.fcntl is None, reason="no flock here")


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_two_threads_never_hold_it_together(path: Path) -> None:
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(50):
            with turn.taken(path, 60):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0001)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_two_processes_never_hold_it_together(path: Path, tmp_path: Path) -> None:
    number = tmp_path / "number"
    number.write_text("0")
    arguments = [sys.executable, "-c", COUNT, str(path), str(number)]
    processes = [subprocess.Popen(arguments) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert number.read_text() == "150"


def test_a_process_that_holds_it_is_waited_for_in_vain(path: Path) -> None:
    with held_elsewhere(path):
        begun = time.monotonic()
        with pytest.raises(turn.NotInTime), turn.taken(path, 0.2):
            raise AssertionError("two hold it")
        assert 0.2 <= time.monotonic() - begun < 10


def test_a_thread_that_holds_it_is_waited_for_in_vain(path: Path) -> None:
    with turn.taken(path, 1), pytest.raises(turn.NotInTime), turn.taken(path, 0.05):
        raise AssertionError("two hold it")


def test_it_is_free_once_its_holder_is_killed(path: Path) -> None:
    with held_elsewhere(path) as process:
        process.kill()
        with turn.taken(path, 10):
            pass


def test_it_is_let_go_by_an_error(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), turn.taken(path, 1):
        raise ZeroDivisionError
    with turn.taken(path, 0):
        pass


def test_an_older_singerlake_and_this_one_exclude_each_other(path: Path) -> None:
    """It used the package `filelock` on the same file."""
    with FileLock(path), pytest.raises(turn.NotInTime), turn.taken(path, 0.05):
        raise AssertionError("two hold it")
    with turn.taken(path, 1), pytest.raises(Timeout), FileLock(path, timeout=0.05):
        raise AssertionError("two hold it")


def test_a_file_that_was_removed_while_it_was_locked_is_nobodys(path: Path) -> None:
    with turn.taken(path, 1):
        path.unlink()
        descriptor = turn._tried(path)
        assert descriptor is not None
        os.close(descriptor)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_waits_for_no_thread_of_its_parent(path: Path) -> None:
    with turn.taken(path, 1):
        child = os.fork()
        if child == 0:
            try:
                threads = turn._threads.get()
                os._exit(len(threads))
            finally:
                os._exit(99)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_where_there_is_no_flock_the_package_does_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_elsewhere(path):
        monkeypatch.setattr(turn, "fcntl", None)
        with pytest.raises(turn.NotInTime), turn.taken(path, 0.05):
            raise AssertionError("two hold it")
