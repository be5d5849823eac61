"""The webhook job: what counts as taken, and what is not said."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from singerlake.cli.process.job.webhook import webhook
from singerlake.errors import ConfigError, Later, Unavailable
from singerlake.processor import Event


def test_a_webhook_that_moved_or_is_busy_has_not_taken_the_event() -> None:
    heard: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append((self.command, self.path))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(429 if self.path == "/busy" else 301)
            self.send_header("Location", "/new")
            self.send_header("Retry-After", "9" * 30)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{server.server_port}"
    with pytest.raises(Unavailable) as moved:
        webhook(f"http://me:s3cret@{host}/hooks/s3cret")(Event("k", 1, 1, 1))
    with pytest.raises(Later) as busy:
        webhook(f"http://{host}/busy")(Event("k", 1, 1, 1))
    server.shutdown()
    assert str(moved.value) == f"http://{host}/… answered 301"
    assert busy.value.seconds == 60
    assert heard == [("POST", "/hooks/s3cret"), ("POST", "/busy")]
    with pytest.raises(ConfigError) as wrong:
        webhook("htp://me:s3cret@host")
    assert "s3cret" not in str(wrong.value)
