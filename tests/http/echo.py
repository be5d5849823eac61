"""An app to be served: it answers with what it was asked."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from singerlake.errors import CorruptFile, Unavailable
from singerlake.http.answer import Problem, Receive, Scope, Send, send_body, send_json
from singerlake.http.body import read_body
from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import Limits, Listen
from singerlake.http.workers import Workers

QUICK = Limits(
    head_bytes=8192,
    body_bytes=100_000,
    unpacked_bytes=200_000,
    head_seconds=0.5,
    request_seconds=1.0,
    stall_seconds=1.0,
)
BIG = 64 * 1024 * 1024


class Echo:
    """`/hold` answers once `release` is set; `/big` answers with 64 MiB."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = 0
        self.sent = threading.Event()
        """Whether a big answer is over."""
        self.workers = Workers(4)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.released: asyncio.Event | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            self.loop, self.released = asyncio.get_running_loop(), asyncio.Event()
            raise RuntimeError("this app has no lifespan")
        scope["route_name"] = path = scope["path"]
        answers: dict[str, Callable[[], Any]] = {
            "/fail": self._fail,
            "/problem": self._refuse,
            "/damage": self._damage,
            "/outage": self._outage,
        }
        if path in answers:
            answers[path]()
        if path == "/text":
            await send_body(send, 418, b"short and stout", [(b"content-type", b"text/plain")])
        elif path == "/hold":
            self.held += 1
            assert self.released is not None
            await self.released.wait()
            await send_json(send, {"held": True})
        elif path == "/block":
            self.held += 1
            await self.workers.run(threading.Event().wait)
        elif path == "/big":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(BIG // 65536):
                await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            self.sent.set()
        elif path == "/breaks":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
            raise CorruptFile("secret place")
        else:
            body = await read_body(scope, receive, self.limits)
            await send_json(send, {"size": len(body), "sha": hashlib.sha256(body).hexdigest()})

    def release(self) -> None:
        assert self.loop is not None
        assert self.released is not None
        self.loop.call_soon_threadsafe(self.released.set)

    def _fail(self) -> None:
        raise KeyError("secret")

    def _refuse(self) -> None:
        raise Problem(409, "Conflict", "as asked", [(b"x-why", b"because")])

    def _damage(self) -> None:
        raise CorruptFile("s3://secret/place: damaged")

    def _outage(self) -> None:
        raise Unavailable("s3://secret/place: no answer")


@contextmanager
def served(limits: Limits = QUICK, listen: Listen | None = None, **kit: Any) -> Iterator[Any]:
    """The address of an echo, and the app."""
    app = Echo(limits)
    with serving(Service(app, limits, **kit), listen or Listen()) as url:
        yield url, app
