"""A receiver of events that keeps what it gets; it can refuse, fail, and never answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.zygote import PATIENCE


class Receiver:
    """`status` is what it answers; None: it never does."""

    def __init__(self, status: int | None = 201) -> None:
        self.status = status
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self._gone = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), body))
                if receiver.status is None:
                    receiver._gone.wait()
                    return
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Not to stderr."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, _, body in list(self.requests)]

    def wait_for(self, count: int, is_alive: Callable[[], bool] = lambda: True) -> None:
        deadline = time.monotonic() + PATIENCE
        while len(self.requests) < count:
            assert time.monotonic() < deadline, self.events
            assert is_alive(), self.events
            time.sleep(0.01)

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        self._gone.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiving(status: int | None = 201) -> Iterator[Receiver]:
    receiver = Receiver(status)
    thread = threading.Thread(target=receiver.serve, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.close()
        thread.join()


def run_events(events: list[dict[str, Any]], kind: str | None = None) -> list[dict[str, Any]]:
    """Those of runs, or those of processes (JOB) or of their parts (TASK)."""
    found = [event for event in events if "run" in event]
    if kind is None:
        return found
    return [one for one in found if one["job"]["facets"]["jobType"]["jobType"] == kind]


def steps(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["job"]["name"], event["eventType"]) for event in events if "run" in event]
