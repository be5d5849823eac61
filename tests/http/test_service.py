"""What the kit answers: health, errors, tokens, bodies, and what it counts."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, Router

from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import Listen
from singerlake.metrics import Metrics
from tests.http.echo import served
from tests.http.wire import ask, connection, get, post


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(metrics=Metrics.create(process=False)) as (address, _):
        yield address


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
