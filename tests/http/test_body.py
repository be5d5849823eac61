"""Bodies: whole, in chunks, packed, too large, and what is no HTTP at all."""

from __future__ import annotations

import gzip
import hashlib
import re
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from singerlake.http.answer import Problem
from singerlake.http.body import _unpacked
from singerlake.metrics import Metrics
from tests.http.echo import QUICK, served
from tests.http.wire import ask, connection, get, post, read_answer


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(metrics=Metrics.create(process=False)) as (address, _):
        yield address


def expected(body: bytes) -> dict[str, object]:
    return {"size": len(body), "sha": hashlib.sha256(body).hexdigest()}


def test_bodies_arrive_whole(url: str) -> None:
    for body in (b"", b"x", bytes(range(256)) * 390):
        assert post(url, "/", body).json == expected(body)


def test_a_body_in_chunks(url: str) -> None:
    body = bytes(range(256)) * 4
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    head = b"POST / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = ask(url, head + chunks)
    assert answer is not None
    assert answer.json == expected(body)


def test_requests_on_one_connection(url: str) -> None:
    with connection(url) as opened:
        for number in range(5):
            body = b"x" * number
            head = f"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: {number}\r\n\r\n".encode()
            opened.sendall(head + body)
            answer = read_answer(opened)
            assert answer is not None
            assert answer.json == expected(body)


def test_requests_in_one_piece_are_answered_in_order(url: str) -> None:
    bodies = [b"x" * number for number in range(20)]
    heads = [b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: %d\r\n\r\n" % len(b) for b in bodies]
    with connection(url) as opened:
        opened.sendall(b"".join(head + body for head, body in zip(heads, bodies, strict=True)))
        received = b""
        while received.count(b"HTTP/1.1 200") < 20 or not received.endswith(b"}"):
            received += opened.recv(65536)
    sizes = [int(size) for size in re.findall(rb'"size":(\d+)', received)]
    assert sizes == list(range(20))


def test_a_sender_who_waits_is_told_to_go_on(url: str) -> None:
    head = b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: %d\r\nexpect: 100-continue\r\n\r\n"
    with connection(url) as opened:
        opened.sendall(head % 3)
        assert opened.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        opened.sendall(b"abc")
        answer = read_answer(opened)
        assert answer is not None
        assert answer.json == expected(b"abc")
    refused = ask(url, head % (QUICK.body_bytes + 1))  # before anything is sent
    assert refused is not None
    assert refused.status == 413


def test_a_wish_for_another_protocol_is_passed_over(url: str) -> None:
    answer = get(url, "/", "upgrade: websocket", "connection: upgrade")
    assert answer.status == 200


PIECES = some.sampled_from(
    [
        b"GET / HTTP/1.1\r\n",
        b"POST /x?y=%ff HTTP/1.1\r\n",
        b"host: t\r\n",
        b"content-length: 3\r\n",
        b"content-length: -1\r\n",
        b"content-length: 99999999999999999999\r\n",
        b"transfer-encoding: chunked\r\n",
        b"content-encoding: gzip\r\n",
        b"authorization: \xff\r\n",
        b"\r\n",
        b"abc",
        b"3\r\nabc\r\n",
        b"0\r\n\r\n",
        b"\x00\xff",
        b" ",
    ]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(PIECES, max_size=8))
def test_nothing_that_is_sent_makes_it_fail(url: str, pieces: list[bytes]) -> None:
    with connection(url) as opened:
        opened.sendall(b"".join(pieces))
        opened.shutdown(socket.SHUT_WR)
        received = b""
        while part := opened.recv(65536):
            received += part
    statuses = re.findall(rb"^HTTP/1.1 (\d+)", received, re.M)
    assert set(statuses) <= {b"200", b"400", b"408", b"413", b"415", b"431"}


def test_too_much_is_refused_before_it_is_received(url: str) -> None:
    """The sender hears of it although it has sent next to nothing."""
    size = QUICK.body_bytes + 1
    answer = ask(url, f"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: {size}\r\n\r\nx".encode())
    assert answer is not None
    assert (answer.status, answer.json["code"]) == (413, "TooLarge")
    assert post(url, "/", bytes(QUICK.body_bytes)).status == 200


def test_too_much_in_chunks_is_refused(url: str) -> None:
    chunk = b"8000\r\n" + bytes(0x8000) + b"\r\n"
    head = b"POST / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = ask(url, head + chunk * 4)
    assert answer is not None
    assert answer.status == 413


@pytest.mark.parametrize("parts", [1, 3])
def test_gzip_is_unpacked(url: str, parts: int) -> None:
    body = b"0123456789" * 1000
    packed = gzip.compress(body) * parts
    assert post(url, "/", packed, "content-encoding: gzip").json == expected(body * parts)


def test_a_gzip_bomb_is_refused(url: str) -> None:
    bomb = gzip.compress(bytes(QUICK.unpacked_bytes * 100))
    assert len(bomb) < QUICK.body_bytes
    assert post(url, "/", bomb, "content-encoding: gzip").json["code"] == "TooLarge"
    just_right = gzip.compress(bytes(QUICK.unpacked_bytes))
    assert post(url, "/", just_right, "content-encoding: gzip").status == 200
    several = gzip.compress(b"") * 40 + gzip.compress(bytes(QUICK.unpacked_bytes + 1))
    assert post(url, "/", several, "content-encoding: gzip").status == 413


def test_members_of_gzip_without_end_are_refused() -> None:
    """Each is a copy of the rest: a megabyte of empty ones took four seconds."""
    assert _unpacked(gzip.compress(b"a") * 100, 100) == b"a" * 100
    with pytest.raises(Problem, match="more than 100 members"):
        _unpacked(gzip.compress(b"") * 50_000, 100)


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(b"whole", mtime=0)[:-3], b""])
def test_bad_gzip_is_the_senders_fault(url: str, body: bytes) -> None:
    answer = post(url, "/", body, "content-encoding: gzip")
    assert (answer.status, answer.json["code"]) == (400, "BadGzip")


def test_other_encodings_are_unknown(url: str) -> None:
    answer = post(url, "/", b"x", "content-encoding: br")
    assert (answer.status, answer.headers["accept-encoding"]) == (415, "gzip, identity")
