"""A backend that behaves as it is told: it takes events, refuses, hangs, resets, or loses answers.

Real sockets, on this machine; only what the backend does with events is made up.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Manner = Literal["takes", "hangs", "resets", "503", "429", "loses answers", "400", "500"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A sender that is killed hangs up."""


class Backend:
    """`manner` is asked for each event. `taken` has every event that was taken, in order."""

    def __init__(self, manner: Callable[[bytes], Manner]) -> None:
        self.manner = manner
        self.taken: list[bytes] = []
        self.asked: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self._lock = threading.Condition()
        self._ending = threading.Event()
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                backend._answer(self)

            def log_message(self, *_: Any) -> None:
                """Tests say what went wrong."""

        self._handler = Handler
        self.port = 0
        self.listen()
        self.url = f"http://127.0.0.1:{self.port}"

    def listen(self) -> None:
        """At the same port as before."""
        self._server = _Server(("127.0.0.1", self.port), self._handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def refuse(self) -> None:
        """From now on nobody listens; connections that are open stay."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers["content-length"])
        event = request.rfile.read(length)
        if len(event) < length:
            return  # the sender was killed in the middle: no backend takes half an event
        manner = self.manner(event)
        with self._lock:
            self.asked.append(event)
            self.headers.append(dict(request.headers))
            if manner in ("takes", "loses answers"):
                self.taken.append(event)
            self._lock.notify_all()
        if manner == "hangs":
            self._ending.wait(30)
        if manner in ("hangs", "resets", "loses answers"):
            # A reset, as from a machine that went away.
            request.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            request.close_connection = True
            request.connection.close()
            return
        status = 201 if manner == "takes" else int(manner)
        request.send_response(status)
        if status in (429, 503):
            request.send_header("Retry-After", "0")
        body = b"" if status == 201 else b'{"reason": "because"}'
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def wait_for(self, count: int, seconds: float = 60.0) -> list[bytes]:
        """Until so many events were taken."""
        with self._lock:
            assert self._lock.wait_for(lambda: len(self.taken) >= count, seconds), len(self.taken)
            return list(self.taken)

    def wait_until_asked(self, count: int, seconds: float = 60.0) -> None:
        with self._lock:
            assert self._lock.wait_for(lambda: len(self.asked) >= count, seconds), len(self.asked)

    def close(self) -> None:
        self._ending.set()
        self.refuse()


def takes(event: bytes) -> Manner:
    return "takes"


def moody(seed: int, share: float = 0.3) -> Callable[[bytes], Manner]:
    """At random, mostly good."""
    chance = random.Random(seed)
    bad: tuple[Manner, ...] = ("resets", "503", "429", "loses answers", "500", "hangs")

    def manner(event: bytes) -> Manner:
        return chance.choice(bad) if chance.random() < share else "takes"

    return manner


@contextmanager
def backend(manner: Callable[[bytes], Manner] = takes) -> Iterator[Backend]:
    made = Backend(manner)
    try:
        yield made
    finally:
        made.close()
