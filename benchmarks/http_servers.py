"""Servers for the benchmark of HTTP, each a process: `python -m benchmarks.http_servers NAME`."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable

import uvicorn
import uvloop
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from benchmarks.index_entries import Shape
from singerlake.http.answer import App, Receive, Scope, Send, encode, send_json
from singerlake.http.body import read_body
from singerlake.http.server import serve
from singerlake.http.service import Service
from singerlake.http.settings import DEFAULTS, Listen
from singerlake.index.api.app import index_app
from singerlake.index.api.archive import Archive
from singerlake.index.open import open_index
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.metrics import Metrics

ENTRIES = 100_000
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n" + b'{"n":2048}'


class _Bare(asyncio.Protocol):
    """The limit: takes a request's bytes, knows nothing of them, and answers."""

    def __init__(self, size: int) -> None:
        self._size, self._had = size, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._had += len(data)
        while self._had >= self._size:
            self._had -= self._size
            self._transport.write(ANSWER)  # type: ignore[attr-defined]


async def _raw(scope: Scope, receive: Receive, send: Send) -> None:
    """As little as an app can do."""
    if scope["type"] == "lifespan":
        raise RuntimeError("no lifespan")
    await send_json(send, {"n": len((await receive())["body"])})


async def _in_kit(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        raise RuntimeError("no lifespan")
    await send_json(send, {"n": len(await read_body(scope, receive, DEFAULTS))})


async def _of_starlette(request: Request) -> Response:
    body = await read_body(request.scope, request.receive, DEFAULTS)
    return Response(encode({"n": len(body)}), media_type="application/json")


def _say(url: str) -> None:
    print(url, flush=True)


def bare(size: int) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Bare(size), "127.0.0.1", 0)
        _say(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await server.serve_forever()

    uvloop.run(run())


def plain_uvicorn() -> None:
    bound = socket.create_server(("127.0.0.1", 0))
    _say(f"http://127.0.0.1:{bound.getsockname()[1]}")
    config = uvicorn.Config(
        _raw, http="httptools", loop="uvloop", ws="none", access_log=False, log_config=None
    )
    uvicorn.Server(config).run([bound])


def kit(app: App) -> None:
    serve(Service(app, metrics=Metrics.create()), Listen(), _say)


def index(path: str) -> None:
    storage = open_index(f"sqlite:///{path}")
    kit(index_app(Archive(storage)))


def fill(path: str) -> None:
    """Make the index that `index` serves."""
    storage, shape = open_index(f"sqlite:///{path}"), Shape(ENTRIES)
    storage.bind("6513270e269e4d37b2a74de452e6b438")
    for tap, stream in shape.streams():
        entries = list(shape.of(tap, stream))
        with storage.change(tap, stream) as change:
            change.add(entries)
            change.keep(Bookmark(entries[-1].log_id, entries[-1].sequence))
    storage.close()


SERVERS: dict[str, Callable[[str], None]] = {
    "bare": lambda size: bare(int(size)),
    "uvicorn": lambda _: plain_uvicorn(),
    "kit": lambda _: kit(_in_kit),
    "starlette": lambda _: kit(Router([Route("/", _of_starlette, methods=["POST"])])),
    "index": index,
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](sys.argv[2])
