"""Answers of a service as JSON, and a problem: `{"code", "message"}` with its status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any

import msgspec

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

JSON: Header = (b"content-type", b"application/json")
CLOSE: Header = (b"connection", b"close")

encode = msgspec.json.Encoder().encode


class Problem(Exception):
    """Raise it where a request cannot be answered as asked; the kit sends it."""

    def __init__(
        self, status: int, code: str, message: str, headers: Iterable[Header] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers = tuple(headers)

    def body(self) -> bytes:
        return encode({"code": self.code, "message": self.message})


def problem_of(status: int, headers: Iterable[Header] = (), message: str = "") -> Problem:
    """The problem for a status alone: 404 is `NotFound`, 405 `MethodNotAllowed`, and so on."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    code = "".join(word[:1].upper() + word[1:] for word in phrase.replace("-", " ").split())
    return Problem(status, code, message or phrase, headers)


async def send_body(
    send: Send, status: int, body: bytes, headers: Iterable[Header] = (JSON,)
) -> None:
    """A whole answer."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_json(send: Send, value: object, status: int = 200) -> None:
    await send_body(send, status, encode(value))


async def send_problem(send: Send, problem: Problem) -> None:
    await send_body(send, problem.status, problem.body(), (JSON, *problem.headers))


def raw_answer(problem: Problem) -> bytes:
    """A problem as bytes for a connection that no app has, which is closed after it."""
    body = problem.body()
    head = [b"HTTP/1.1 %d %s" % (problem.status, HTTPStatus(problem.status).phrase.encode())]
    length = (b"content-length", b"%d" % len(body))
    head += [name + b": " + value for name, value in (JSON, length, CLOSE, *problem.headers)]
    return b"\r\n".join((*head, b"", body))
