"""The receiver of posts: `POST /events/{name}`, answered once the post is in the inbox."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from singerlake.errors import ConfigError
from singerlake.format import times
from singerlake.http.answer import App, Problem, Receive, Scope, Send, send_json
from singerlake.http.body import read_body
from singerlake.http.settings import DEFAULTS, Limits
from singerlake.http.workers import Workers
from singerlake.wait.inbox import Inbox

PREFIX = "/events/"
ID_HEADERS = (b"idempotency-key", b"x-event-id")
THREADS = 8


def receiver(inbox: Inbox, limits: Limits = DEFAULTS, prefix: str = PREFIX) -> App:
    """201 for a new post, 200 for a repeat, which has an id that came before, 400 with the reason.

    The body is a JSON object, or empty. Its id is that of the header `Idempotency-Key` or
    `X-Event-Id`, or `id` in the body; its time is `time` in the body, or now.
    """
    workers = Workers(THREADS)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        name = _name(scope, prefix)
        data = await read_body(scope, receive, limits)
        status, answer = await workers.run(lambda: take(inbox, name, scope["headers"], data))
        await send_json(send, answer, status)

    return app


def take(
    inbox: Inbox, name: str, headers: Iterable[tuple[bytes, bytes]], data: bytes
) -> tuple[int, dict[str, str]]:
    """Keep a post; returns the status and the JSON of its answer. Raises `Problem`."""
    body = _parsed(data)
    try:
        is_new = inbox.take(name, body, _id(headers, body), _time(body))
    except ConfigError as error:
        raise Problem(400, "BadEvent", str(error)) from None
    return 201 if is_new else 200, {"event": name, "state": "received" if is_new else "repeat"}


def _name(scope: Scope, prefix: str) -> str:
    scope["route_name"] = f"{prefix}{{name}}"
    # The raw path: `%2F` in a name is no slash.
    path = bytes(scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
    _, found, name = path.decode("ascii", "replace").partition(prefix)
    if not found or not name or "/" in name:
        scope["route_name"] = "other"
        raise Problem(404, "NotFound", f"expected a post to {prefix}NAME")
    if scope["method"] != "POST":
        raise Problem(405, "MethodNotAllowed", "expected POST", [(b"allow", b"POST")])
    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "BadEvent", "expected a name in UTF-8") from None


def _parsed(data: bytes) -> dict[str, Any]:
    if not data.strip():
        return {}
    try:
        body = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Problem(400, "BadEvent", f"expected a JSON object: {error}") from None
    if not isinstance(body, dict):
        raise Problem(400, "BadEvent", "expected a JSON object, found another value")
    return body


def _no_number(text: str) -> float:
    raise ValueError(f"JSON has no {text}")


def _id(headers: Iterable[tuple[bytes, bytes]], body: dict[str, Any]) -> str | None:
    for name, value in headers:
        if name in ID_HEADERS:
            return str(value.decode("latin-1").strip()) or None
    found = body.get("id")
    if found is None or isinstance(found, bool) or not isinstance(found, (str, int)):
        return None
    return str(found) or None


def _time(body: dict[str, Any]) -> datetime | None:
    text = body.get("time")
    if text is None:
        return None
    try:
        return times.parse_time(text)
    except (ValueError, OverflowError, TypeError, AttributeError):
        raise Problem(
            400, "BadEvent", f"expected `time` such as 2026-03-03T08:00:00Z, found {text!r:.80}"
        ) from None
