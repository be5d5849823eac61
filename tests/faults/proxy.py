"""A proxy in front of an S3 server that does to requests what networks and stores do to them."""

from __future__ import annotations

import contextlib
import http.client
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.servers import HOST, S3Server

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes = b""
    length: int | None = None
    """What Content-Length says where it is not the body's: in answers to HEAD."""


class Cut(Exception):
    """The connection is closed without another byte."""


Forward = Callable[[], Answer]
Fault = Callable[[Forward], Answer]
"""Makes an answer; it forwards the request, or does not. May raise `Cut`."""

Plan = Callable[[str, str], Fault | None]
"""What happens to a request, by its method and path; None is nothing."""


def refused(status: int, code: str) -> Fault:
    """It is answered with an error, and does not reach the store."""
    return lambda forward: _error(status, code)


def applied_but_refused(status: int, code: str) -> Fault:
    """It reaches the store, and is answered with an error all the same."""

    def fault(forward: Forward) -> Answer:
        forward()
        return _error(status, code)

    return fault


def sent_twice(forward: Forward) -> Answer:
    """Something on the way repeats it: a conditional write is then refused by its own success."""
    forward()
    return forward()


def dropped(forward: Forward) -> Answer:
    """It does not reach the store, and there is no answer."""
    raise Cut


def answer_lost(forward: Forward) -> Answer:
    forward()
    raise Cut


def answer_cut(forward: Forward) -> Answer:
    """The answer stops in the middle."""
    answer = forward()
    if not answer.body:
        raise Cut
    return replace(answer, body=answer.body[: len(answer.body) // 2], length=len(answer.body))


def slow(seconds: float) -> Fault:
    """It reaches the store late."""

    def fault(forward: Forward) -> Answer:
        time.sleep(seconds)
        return forward()

    return fault


def sometimes(faults: list[Fault], probability: float, seed: int) -> Plan:
    """One of the faults, for so many of the requests."""
    chance = random.Random(seed)

    def plan(method: str, path: str) -> Fault | None:
        return chance.choice(faults) if chance.random() < probability else None

    return plan


def after(requests: int, fault: Fault) -> Plan:
    """To every request from some on."""
    left = iter(range(requests))
    return lambda method, path: fault if next(left, None) is None else None


def nothing(method: str, path: str) -> Fault | None:
    return None


class Proxy(ThreadingHTTPServer):
    """`plan` may be changed at any moment; `faults` counts what happened."""

    daemon_threads = True

    def __init__(self, behind: S3Server) -> None:
        super().__init__((HOST, 0), _Handler)
        self.behind = behind
        self.server = replace(behind, endpoint=f"http://{HOST}:{self.server_address[1]}")
        self.plan: Plan = nothing
        self.faults = 0
        self._lock = threading.Lock()

    def fault_for(self, method: str, path: str) -> Fault | None:
        with self._lock:
            fault = self.plan(method, path)
            self.faults += fault is not None
            return fault

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed in the middle is no news."""


@contextlib.contextmanager
def proxied(server: S3Server) -> Iterator[Proxy]:
    with Proxy(server) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Proxy  # type: ignore[assignment]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.fault_for(self.command, self.path)

        def forward() -> Answer:
            return self._forward(body)

        try:
            answer = fault(forward) if fault else forward()
            self._answer(answer)
        except (Cut, OSError, http.client.HTTPException):
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle  # noqa: N815

    def _forward(self, body: bytes) -> Answer:
        # The host stays as the client wrote it: it is part of what was signed.
        headers = {name: value for name, value in self.headers.items() if name != "Expect"}
        address = urlsplit(self.server.behind.endpoint).netloc
        with contextlib.closing(http.client.HTTPConnection(address)) as connection:
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            told = {
                name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP
            }
            data = answer.read()
            head = self.command == "HEAD"
            length = int(answer.getheader("Content-Length") or 0) if head else None
            return Answer(answer.status, told, data, length)

    def _answer(self, answer: Answer) -> None:
        body = b"" if self.command == "HEAD" else answer.body
        length = len(body) if answer.length is None else answer.length
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status not in (204, 304):
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)
        if self.command != "HEAD" and length != len(body):
            raise Cut


def _error(status: int, code: str) -> Answer:
    body = f"<Error><Code>{code}</Code><Message>by the proxy</Message></Error>"
    return Answer(status, {"Content-Type": "application/xml"}, body.encode())
