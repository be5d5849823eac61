"""Slow, silent, greedy and many clients: none of them keeps the others out."""

from __future__ import annotations

import contextlib
import dataclasses
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from singerlake.http.settings import Limits
from tests.http.echo import BIG, QUICK, served
from tests.http.wire import ask, connection, get, is_cut, post, read_answer

PATIENT = dataclasses.replace(
    QUICK, head_seconds=600, request_seconds=600, stall_seconds=600, idle_seconds=600
)
"""Nothing but the limit under test ends a connection."""

GOOD = b"GET / HTTP/1.1\r\nhost: t\r\n\r\n"


def changed(limits: Limits, **others: Any) -> Limits:
    return dataclasses.replace(limits, **others)


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nhost: t\r\nx: ", b"\r\n"])
def test_a_head_that_does_not_come_is_cut(sent: bytes) -> None:
    with served(changed(PATIENT, head_seconds=0.2)) as (url, _), connection(url) as opened:
        opened.sendall(sent)
        answer = read_answer(opened)
        if answer is not None:  # who has said nothing hears nothing
            assert (answer.status, answer.json["code"]) == (408, "RequestTimeout")
            assert sent
        assert is_cut(opened)


def test_blank_lines_between_requests_gain_no_time() -> None:
    with served(changed(PATIENT, head_seconds=0.2)) as (url, _), connection(url) as opened:
        opened.sendall(GOOD)
        assert read_answer(opened) is not None
        opened.sendall(b"\r\n")
        assert is_cut(opened)


def test_a_patient_server_cuts_nothing() -> None:
    """The control: without a deadline the same connection stays."""
    with served(PATIENT) as (url, _), connection(url) as opened:
        opened.sendall(b"GET / HTTP/1.1\r\nhost: t\r\nx: ")
        opened.settimeout(1.5)
        with pytest.raises(TimeoutError):
            opened.recv(1)


def test_a_body_that_does_not_come_is_answered_and_cut() -> None:
    with served(changed(PATIENT, request_seconds=0.2)) as (url, _), connection(url) as opened:
        opened.sendall(b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 10\r\n\r\n123")
        answer = read_answer(opened)
        assert answer is not None
        assert (answer.status, answer.json["code"]) == (408, "RequestTimeout")
        assert is_cut(opened)


def test_a_body_that_nobody_waits_for_is_cut_too() -> None:
    """The answer is there; the sender goes on for ever with the body."""
    with served(changed(PATIENT, request_seconds=0.1)) as (url, _), connection(url) as opened:
        opened.sendall(b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 999999999\r\n\r\n123")
        answer = read_answer(opened)
        assert answer is not None
        assert answer.status == 413
        assert is_cut(opened)


def test_work_that_takes_too_long_is_answered() -> None:
    with served(changed(PATIENT, request_seconds=0.2)) as (url, app):
        answer = get(url, "/hold")
        assert (answer.status, answer.json["code"]) == (503, "Timeout")
        assert app.held == 1
        assert get(url, "/").status == 200


def test_work_that_blocks_is_answered_and_keeps_nobody_out() -> None:
    with served(changed(PATIENT, request_seconds=0.2, working=1)) as (url, _):
        for _ in range(3):
            assert get(url, "/block").json["code"] == "Timeout"
        assert get(url, "/").status == 200


def test_an_answer_that_nobody_takes_is_cut() -> None:
    limits = changed(PATIENT, stall_seconds=0.2, working=1)
    with served(limits) as (url, app), connection(url) as opened:
        opened.sendall(b"GET /big HTTP/1.1\r\nhost: t\r\n\r\n")
        # The gate has one place, which an answer that has begun does not hold.
        assert get(url, "/").status == 200
        assert app.sent.wait(60)
        received = 0
        with contextlib.suppress(ConnectionError):
            while part := opened.recv(1 << 20):
                received += len(part)
        assert received < BIG


def test_a_big_answer_reaches_who_takes_it() -> None:
    with served(changed(QUICK, request_seconds=0.5)) as (url, _):
        assert len(get(url, "/big").body) == BIG


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nx: " + b"a" * 20_000,
        b"GET / HTTP/1.1\r\nx: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 20_000,
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 10_000 + b"\r\n",
    ],
)
def test_a_long_head_is_refused(head: bytes) -> None:
    with served(PATIENT) as (url, _):
        answer = ask(url, head)
        assert answer is not None
        assert (answer.status, answer.json["code"]) == (431, "HeadTooLarge")


def test_trailers_have_an_end() -> None:
    head = b"POST / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
    with served(PATIENT) as (url, _):
        answer = ask(url, head + b"t: " + b"x" * 100 + b"\r\n\r\n")
        assert answer is not None
        assert answer.status == 200
        for trailers in (b"t: x\r\n" * 100_000, b"t: " + b"x" * (2 << 20)):
            with connection(url) as opened, contextlib.suppress(ConnectionError):
                opened.sendall(head + trailers)
                assert is_cut(opened)


def test_so_many_wait_and_the_others_are_sent_away() -> None:
    with served(changed(PATIENT, working=2, waiting=3)) as (url, app), ExitStack() as stack:
        held = [stack.enter_context(connection(url)) for _ in range(6)]
        for opened in held:
            opened.sendall(b"GET /hold HTTP/1.1\r\nhost: t\r\n\r\n")
        # Five of the six are held: which, the network decides.
        first = {opened: _first(opened) for opened in held}
        refused = [answer for answer in first.values() if answer is not None]
        assert [(one.status, one.headers["retry-after"]) for one in refused] == [(503, "1")]
        assert app.held == 2
        assert get(url, "/health").status == 200
        app.release()
        rest = [read_answer(opened) for opened, answer in first.items() if answer is None]
        assert [answer.json for answer in rest if answer is not None] == [{"held": True}] * 5


def _first(opened: socket.socket) -> Any:
    """The answer, where there is one within a second."""
    opened.settimeout(1)
    try:
        opened.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return None
    finally:
        opened.settimeout(60)
    return read_answer(opened)


def test_who_leaves_while_waiting_leaves_a_place() -> None:
    with served(changed(PATIENT, working=1, waiting=1, request_seconds=0.3)) as (url, app):
        for _ in range(5):  # each holds the gate until its deadline
            assert get(url, "/hold").status == 503
        assert app.held == 5
        assert get(url, "/").status == 200


def test_bodies_of_all_requests_together_have_a_bound() -> None:
    limits = changed(PATIENT, body_bytes=60_000, buffered_bytes=100_000)
    head = b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 60000\r\n\r\n"
    with served(limits) as (url, _), connection(url) as slow:
        slow.sendall(head + bytes(59_999))
        answers = [post(url, "/", bytes(60_000)).status for _ in range(3)]
        assert 503 in answers
        slow.sendall(b"x")
        answer = read_answer(slow)
        assert answer is not None
        assert answer.status == 200
        assert post(url, "/", bytes(60_000)).status == 200


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nx: "], ids=["silent", "slow"])
def test_many_that_send_nothing_or_slowly_shut_nobody_out(sent: bytes) -> None:
    """110 at a limit of 100, and no deadline that would help: a good one still gets through."""
    with served(changed(PATIENT, connections=100)) as (url, _), ExitStack() as stack:
        for _ in range(110):
            stack.enter_context(connection(url)).sendall(sent)
        for _ in range(5):
            assert get(url, "/").status == 200


def test_slow_bodies_hold_no_place_of_the_others() -> None:
    with served(changed(PATIENT, working=1, waiting=1)) as (url, _), ExitStack() as stack:
        for _ in range(20):
            opened = stack.enter_context(connection(url))
            opened.sendall(b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n\r\n1")
        for _ in range(5):
            assert post(url, "/", b"good").status == 200


def test_where_all_are_at_work_a_new_connection_is_refused() -> None:
    limits = changed(PATIENT, connections=3, working=10)
    with served(limits) as (url, app), ExitStack() as stack:
        held = [stack.enter_context(connection(url)) for _ in range(3)]
        for opened in held:
            opened.sendall(b"GET /hold HTTP/1.1\r\nhost: t\r\n\r\n")
        while get(url, "/").status != 503:
            continue  # until the server has seen all three
        app.release()
        for opened in held:
            answer = read_answer(opened)
            assert answer is not None
            assert answer.status == 200


@pytest.fixture
def many_files() -> Iterator[None]:
    """Both ends of a thousand connections are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
def test_a_thousand_idle_connections_take_little_memory() -> None:
    with served(changed(PATIENT, connections=1200)) as (url, _), ExitStack() as stack:
        assert get(url, "/").status == 200
        before = _memory()
        idle = [stack.enter_context(connection(url)) for _ in range(1000)]
        for opened in idle:
            opened.sendall(GOOD)
        assert get(url, "/").status == 200
        assert _memory() - before < 30_000_000
        for opened in (idle[0], idle[-1]):
            assert read_answer(opened) is not None


def _memory() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
