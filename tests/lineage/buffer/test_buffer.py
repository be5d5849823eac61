"""The buffer: order, restarts, destinations, collection, owners, formats."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from singerlake.errors import BusyError, LockTimeout, UnsupportedFormat
from singerlake.lineage.buffer import Buffer, Limits
from singerlake.lineage.buffer.check import check
from singerlake.lineage.buffer.disk import database
from singerlake.lineage.buffer.disk.layout import STATE, partition_paths
from singerlake.lineage.buffer.survey import survey
from tests.lineage.buffer.folder import TO, event, fill, opened, readable, send_all

KEPT = Path(__file__).parent / "kept"


def test_events_come_back_in_order_byte_for_byte(tmp_path: Path) -> None:
    with opened(tmp_path) as buffer:
        assert buffer.put([event(1), event(2)]) == [1, 2]
        assert fill(buffer, 100, 3) == list(range(3, 103))
        assert len(buffer.shelf.partitions()) > 2
        assert readable(buffer) == {number: event(number) for number in range(1, 103)}
    with opened(tmp_path) as buffer:
        assert readable(buffer) == {number: event(number) for number in range(1, 103)}
        assert buffer.put([b"{}"]) == [103]


def test_requests_that_wait_share_a_transaction(tmp_path: Path) -> None:
    """And each gets its own numbers, in the order in which they were submitted."""
    with opened(tmp_path) as buffer:
        commits: list[str] = []
        buffer.put([event(0)])
        connection = buffer._writer._connection
        assert connection is not None
        results: dict[int, object] = {}
        ended = threading.Semaphore(0)
        with buffer._writer._turn:  # the writer waits: so does whatever comes meanwhile
            connection.set_trace_callback(lambda text: commits.append(text))
            for number in range(1, 31):

                def done(outcome: object, number: int = number) -> None:
                    results[number] = outcome
                    ended.release()

                buffer.submit([event(number)], done)
        for _ in range(30):
            assert ended.acquire(timeout=30)
        assert [results[number] for number in range(1, 31)] == [[n] for n in range(2, 32)]
        assert sum(text == "COMMIT" for text in commits) <= 2


def test_too_many_that_wait_are_refused(tmp_path: Path) -> None:
    limits = Limits(waiting_events=5, free_bytes=0)
    with opened(tmp_path, limits=limits) as buffer, buffer._writer._turn:
        answers: list[object] = []
        buffer.submit([b"{}"], answers.append)
        while buffer._waiting.count:  # until the writer has taken it
            pass
        for _ in range(5):
            buffer.submit([b"{}"], answers.append)
        with pytest.raises(BusyError, match="later"):
            buffer.submit([b"{}"], answers.append)


def test_a_destination_goes_on_where_it_was(tmp_path: Path) -> None:
    with opened(tmp_path, "a", "b") as buffer:
        fill(buffer, 10)
        send_all(buffer, "a", until=7)
    with opened(tmp_path, "a", "b") as buffer:
        assert (buffer.checkpoint("a"), buffer.checkpoint("b")) == (7, 0)
        assert (buffer.lag("a"), buffer.lag("b")) == (3, 10)


def test_a_partition_goes_when_every_destination_is_past_it(tmp_path: Path) -> None:
    with opened(tmp_path, "a", "b") as buffer:
        fill(buffer, 150)
        before = len(buffer.shelf.partitions())
        send_all(buffer, "a")
        buffer.keep([])
        assert len(buffer.shelf.partitions()) == before
        send_all(buffer, "b", until=75)
        buffer.keep([])
        assert 1 < len(buffer.shelf.partitions()) < before
        assert [*readable(buffer, 75)] == list(range(76, 151))
        send_all(buffer, "b")
        buffer.keep([])
        assert len(partition_paths(tmp_path)) == 1  # the current one stays


def test_numbers_are_never_used_again(tmp_path: Path) -> None:
    last = 0
    for _ in range(4):
        with opened(tmp_path) as buffer:
            (first, *_) = fill(buffer, 40)
            assert first == last + 1
            last = buffer.shelf.last
            send_all(buffer)
            buffer.keep([])
    shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
    for paths in partition_paths(tmp_path).values():
        paths[0].unlink()
    with opened(tmp_path) as buffer:
        assert buffer.put([b"{}"])[0] > last
        assert buffer.shelf.gaps.lost == 0  # all of them had been sent


def test_a_look_from_outside_is_right_while_the_proxy_works(tmp_path: Path) -> None:
    """Events come, are sent, and their files are deleted: nothing of that is a finding."""
    with opened(tmp_path) as buffer:
        ending = threading.Event()

        def work() -> None:
            while not ending.is_set():
                fill(buffer, 24)
                send_all(buffer, until=buffer.shelf.last - 5)
                buffer.keep([])

        worker = threading.Thread(target=work)
        worker.start()
        try:
            fill(buffer, 1)
            for _ in range(15):
                assert check(tmp_path).findings == ()
                assert survey(tmp_path).lost == 0
        finally:
            ending.set()
            worker.join()


def test_a_new_destination_gets_all_that_is_there(tmp_path: Path) -> None:
    with opened(tmp_path) as buffer:
        fill(buffer, 5)
    with opened(tmp_path, TO, "new") as buffer:
        assert buffer.lag("new") == 5


def test_a_destination_that_comes_back_too_late_is_told_what_it_missed(tmp_path: Path) -> None:
    with opened(tmp_path, "a", "b") as buffer:
        fill(buffer, 10)
    with opened(tmp_path, "a") as buffer:
        fill(buffer, 100)
        send_all(buffer, "a")
        buffer.keep([])
        oldest = buffer.shelf.partitions()[0].first
    with opened(tmp_path, "a", "b") as buffer:
        assert oldest > 11
        assert buffer.checkpoint("b") == oldest - 1
        assert buffer.state.counters()["dropped", "b"] == oldest - 1


def test_a_second_owner_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(LockTimeout, match=f"process {os.getpid()} on .* --data"):
        Buffer(tmp_path, [TO])


def test_a_lock_of_a_killed_process_is_no_lock(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, time; from singerlake.lineage.buffer import Buffer\n"
        "Buffer(pathlib.Path(sys.argv[1]), ['backend']).put([b'{}'])\n"
        "print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(LockTimeout, match=f"process {child.pid}"):
        Buffer(tmp_path, [TO])
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert b"process" in (tmp_path / "owner.lock").read_bytes()  # what is left says nothing
    with opened(tmp_path) as buffer:
        assert [*readable(buffer)] == [1]


@pytest.mark.parametrize("newer", [STATE, "partition"])
def test_a_newer_store_is_refused_and_left_alone(newer: str, tmp_path: Path) -> None:
    with opened(tmp_path) as buffer:
        fill(buffer, 3)
    path = next(iter(partition_paths(tmp_path).values()))[0]
    path = path if newer == "partition" else tmp_path / STATE
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={database.FORMAT + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UnsupportedFormat, match="upgrade"):
        Buffer(tmp_path, [TO])
    assert path.read_bytes() == before
    assert not (tmp_path / "damaged").exists()


def test_a_buffer_of_the_first_format_is_read(tmp_path: Path) -> None:
    """Kept from then on: whoever changes the format sees here that old buffers must be read."""
    folder = tmp_path / "buffer"
    shutil.copytree(KEPT / "v1", folder)
    with opened(folder, "http://127.0.0.1:5000", "file:/tmp/out") as buffer:
        assert buffer.checkpoints() == {"http://127.0.0.1:5000": 3, "file:/tmp/out": 5}
        found = readable(buffer)
        assert found == {number: event(number) for number in range(1, 6)}
        assert buffer.put([b"{}"]) == [6]
        assert buffer.state.counters()["dead", "http://127.0.0.1:5000"] == 1
