"""What the kit answers: health, errors, tokens, bodies, and what it counts."""

from __future__ import annotations

import gzip
import hashlib
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, Router

from singerlake.errors import ConfigError
from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import Listen, parse_listen
from singerlake.http.token import Token, read_token
from singerlake.metrics import Metrics
from tests.http.echo import QUICK, served
from tests.http.wire import ask, connection, get, post, read_answer


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(metrics=Metrics.create(process=False)) as (address, _):
        yield address


def expected(body: bytes) -> dict[str, object]:
    return {"size": len(body), "sha": hashlib.sha256(body).hexdigest()}


@pytest.mark.parametrize("path", ["/health", "/health/", "/healthz", "/readyz"])
def test_it_is_well(url: str, path: str) -> None:
    answer = get(url, path)
    assert (answer.status, answer.json) == (200, {"status": "ok"})
    assert get(url, path, method="HEAD").status == 200
    assert get(url, path, method="DELETE").json["code"] == "MethodNotAllowed"


def test_it_is_not_ready_while_something_is_missing() -> None:
    reasons = ["the index is 3 days behind"]
    with served(ready=lambda: reasons[0] if reasons else "") as (url, _):
        answer = get(url, "/readyz")
        assert (answer.status, answer.json["message"]) == (503, reasons[0])
        assert get(url, "/health").status == 200
        reasons.clear()
        assert get(url, "/readyz").status == 200


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/fail", 500, "InternalServerError"),
        ("/problem", 409, "Conflict"),
        ("/damage", 500, "InternalServerError"),
        ("/outage", 503, "Unavailable"),
        ("/text", 418, "I'mATeapot"),
    ],
)
def test_every_error_is_json_and_tells_no_secret(
    url: str, path: str, status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        answer = get(url, path)
    assert (answer.status, answer.json["code"]) == (status, code)
    assert sorted(answer.json) == ["code", "message"]
    assert b"secret" not in answer.body
    assert answer.headers["content-type"] == "application/json"


def test_a_problem_has_its_headers(url: str) -> None:
    assert get(url, "/problem").headers["x-why"] == "because"
    assert get(url, "/outage").headers["retry-after"] == "5"


def test_the_log_says_what_the_answer_does_not(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        get(url, "/damage")
    assert "CorruptFile: s3://secret/place: damaged" in caplog.text


def test_an_answer_that_fails_on_the_way_is_never_whole(url: str) -> None:
    with connection(url) as opened:
        opened.sendall(b"GET /breaks HTTP/1.1\r\nhost: t\r\n\r\n")
        received = b""
        while part := opened.recv(65536):
            received += part
    assert b"begun" in received
    assert not received.endswith(b"0\r\n\r\n")


async def _hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


def test_starlette_says_404_and_405_in_json_too() -> None:
    app = Router([Route("/hello/{name}", _hello, methods=["GET"])], redirect_slashes=False)
    metrics = Metrics.create(process=False)
    with serving(Service(app, metrics=metrics), Listen()) as url:
        assert get(url, "/hello/you").body == b"hello"
        missing = get(url, "/nowhere")
        assert (missing.status, missing.json["code"]) == (404, "NotFound")
        refused = get(url, "/hello/you", method="PUT")
        assert (refused.status, refused.json["code"]) == (405, "MethodNotAllowed")
        assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD"}
        text = get(url, "/metrics").body.decode()
    line = 'singerlake_http_requests_total{method="GET",route="/hello/{name}",status="200"} 1.0'
    assert line in text
    assert "nowhere" not in text


def test_requests_are_counted(url: str) -> None:
    post(url, "/counted", b"x")
    text = get(url, "/metrics").body.decode()
    assert '{method="POST",route="/counted",status="200"} 1.0' in text
    assert "singerlake_http_request_seconds_bucket" in text
    assert "singerlake_http_waiting_requests 0.0" in text


def test_what_is_no_http_gets_400_in_json(url: str) -> None:
    for data in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n"):
        answer = ask(url, data)
        assert answer is not None
        assert (answer.status, answer.json["code"]) == (400, "BadRequest")


# Bodies


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
    many = gzip.compress(b"") * 4000 + gzip.compress(bytes(QUICK.unpacked_bytes + 1))
    assert post(url, "/", many, "content-encoding: gzip").status == 413


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(b"whole")[:-3], b""])
def test_bad_gzip_is_the_senders_fault(url: str, body: bytes) -> None:
    answer = post(url, "/", body, "content-encoding: gzip")
    assert (answer.status, answer.json["code"]) == (400, "BadGzip")


def test_other_encodings_are_unknown(url: str) -> None:
    answer = post(url, "/", b"x", "content-encoding: br")
    assert (answer.status, answer.headers["accept-encoding"]) == (415, "gzip, identity")


# The token


def test_only_who_bears_the_token_is_answered() -> None:
    with served(token=Token("s3cret"), metrics=Metrics.create(process=False)) as (url, _):
        for header in (
            "x-nothing: 1",
            "authorization: Bearer wrong",
            "authorization: Bearer s3cret2",
            "authorization: Basic s3cret",
            "authorization: s3cret",
            "authorization: Bearer \xff",
        ):
            for path in ("/", "/metrics", "/nowhere"):
                answer = get(url, path, header)
                assert (answer.status, answer.json["code"]) == (401, "Unauthorized")
                assert answer.headers["www-authenticate"] == "Bearer"
        for header in ("authorization: Bearer s3cret", "Authorization: bearer  s3cret"):
            assert get(url, "/", header).status == 200
        assert get(url, "/healthz").status == 200


def test_a_token_comes_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    environment = {"TOKEN": "from-environment"}
    bearing = [(b"authorization", b"Bearer from-file")]
    for_file = read_token(file, "TOKEN", environment)
    assert for_file is not None
    for_file.require(bearing)
    assert "from-file" not in f"{for_file!r}{for_file}"
    for_variable = read_token(None, "TOKEN", environment)
    assert for_variable is not None
    for_variable.require([(b"authorization", b"Bearer from-environment")])
    assert read_token(None, "OTHER", environment) is None


@pytest.mark.parametrize("content", [b"", b"two words", b"\xff\xfe", "größe".encode()])
def test_what_is_no_token_is_a_matter_of_settings(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_token(file, "TOKEN", {})
    assert not content or content.decode("latin-1") not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("localhost:0", "localhost", 0),
        ("[::1]:80", "::1", 80),
        (":9000", "0.0.0.0", 9000),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert parse_listen(text) == (host, port)


@pytest.mark.parametrize("text", ["", "8080", "host", "host:70000", "::1:80", "http://h:1", "h:-1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="expected HOST:PORT"):
        parse_listen(text)
