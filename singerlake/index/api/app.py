"""Routes of the v0 API, as an app for `singerlake.http.service.Service`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router

from singerlake.http.answer import encode
from singerlake.http.workers import Workers
from singerlake.index.api.archive import Archive
from singerlake.index.api.content import Content
from singerlake.index.api.parameters import parameters_of
from singerlake.index.api.spec import specification

THREADS = 8
"""Each has a connection of its own to the index, with a cache of its own."""

_HOST = re.compile(r"[A-Za-z0-9.\-_~]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?")
_SAFE = {
    # Files hold what taps sent: a browser must not take one for a page of this address.
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
}


def index_app(archive: Archive, public_url: str | None = None) -> Router:
    """`public_url` is where clients find this service, if not at the host that they ask for."""
    api = _Api(archive, public_url)
    routes = {
        "/v0/archive/": api.facts,
        "/v0/archive/files/": api.files,
        "/v0/archive/summary": api.summary,
        "/v0/archive/files/{id:path}/data": api.data,
        "/v0/archive/files/{id:path}/metadata": api.metadata,
        "/v0/archive/latest/{what}/{where}": api.latest,
        "/v0/archive/latest/{what}/{where}/data": api.latest_data,
        "/v0/environment/": api.environment,
        "/spec/": api.spec,
    }
    found = [Route(path, answer, methods=["GET"]) for path, answer in routes.items()]
    # Those who leave out the last slash mean the same.
    found += [
        Route(path.rstrip("/"), answer, methods=["GET"])
        for path, answer in routes.items()
        if path.endswith("/")
    ]
    return Router(found, redirect_slashes=False)


class _Api:
    def __init__(self, archive: Archive, public_url: str | None) -> None:
        self._archive = archive
        self._public_url = None if public_url is None else public_url.rstrip("/")
        self._workers = Workers(THREADS)

    async def facts(self, request: Request) -> Response:
        return _json(encode(self._archive.facts()))

    async def environment(self, request: Request) -> Response:
        return _json(encode(self._archive.environment()))

    async def spec(self, request: Request) -> Response:
        return _json(encode(specification(self._base(request))))

    async def files(self, request: Request) -> Response:
        given = parameters_of(request.scope["query_string"])
        base = self._base(request)
        others = {name: value for name, value in given.items() if name != "cursor"}
        here = f"{base}/v0/archive/files/?{urlencode(others, errors='replace')}&"
        return await self._found(partial(self._archive.files, given, base, here))

    async def summary(self, request: Request) -> Response:
        given = parameters_of(request.scope["query_string"])
        return await self._found(partial(self._archive.summary, given))

    async def latest(self, request: Request) -> Response:
        what, where, given = _latest_of(request)
        return await self._found(
            partial(self._archive.latest, what, where, given, self._base(request))
        )

    async def latest_data(self, request: Request) -> Response:
        what, where, given = _latest_of(request)
        return await self._sent(request, partial(self._archive.latest_content, what, where, given))

    async def metadata(self, request: Request) -> Response:
        return await self._found(partial(self._archive.metadata, request.path_params["id"]))

    async def data(self, request: Request) -> Response:
        return await self._sent(request, partial(self._archive.content, request.path_params["id"]))

    async def _found(self, find: Callable[[], Any]) -> Response:
        return _json(await self._workers.run(lambda: _encoded(find())))

    async def _sent(self, request: Request, find: Callable[[], Content]) -> Response:
        content = await self._workers.run(find)
        headers = dict(_SAFE)
        if content.may_pack:
            headers["vary"] = "accept-encoding"
            if "gzip" in request.headers.get("accept-encoding", ""):
                content = content.packed()
        if content.size is not None:
            headers["content-length"] = str(content.size)
        if content.is_gzip:
            headers["content-encoding"] = "gzip"
        if request.method == "HEAD":
            return Response(headers=headers, media_type=content.media_type)
        blocks = self._workers.iterate(content.blocks)
        return StreamingResponse(blocks, headers=headers, media_type=content.media_type)

    def _base(self, request: Request) -> str:
        """The address that the client used, or the one that was set."""
        if self._public_url is not None:
            return self._public_url
        host = request.headers.get("host", "")
        if _HOST.fullmatch(host) is None:
            name, port = request.scope["server"]
            host = f"{name}:{port}"
        return f"{request.scope['scheme']}://{host}"


def _latest_of(request: Request) -> tuple[str, str, dict[str, str]]:
    names = request.path_params
    return names["what"], names["where"], parameters_of(request.scope["query_string"])


def _encoded(value: object) -> bytes:
    try:
        return encode(value)
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can hold as an escape
        return json.dumps(value).encode("ascii")


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
