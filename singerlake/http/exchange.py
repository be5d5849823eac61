"""An exchange: one request and its answer, as the kit sees them pass."""

from __future__ import annotations

from collections.abc import Callable

from singerlake.http.answer import (
    JSON,
    Message,
    Problem,
    Receive,
    Scope,
    Send,
    problem_of,
    send_problem,
)
from singerlake.http.settings import Limits

_KEPT = (b"allow", b"retry-after", b"www-authenticate")
"""Headers of an error that stay when its body becomes JSON."""


class Buffered:
    """The bytes of all bodies that a service holds."""

    def __init__(self) -> None:
        self.bytes = 0


class Exchange:
    """Receives the body whole, and sees to it that every error is JSON."""

    __slots__ = ("_body", "_receive", "_replaced", "_send", "complete", "held", "leave", "status")

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._body: Message | None = None
        self._replaced = self.complete = False
        self.held = 0
        self.leave: Callable[[], None] | None = None
        """Gives back a place at the gate."""
        self.status = 0
        """Of the answer; 0 before it begins."""

    async def take_body(self, scope: Scope, limits: Limits, buffered: Buffered) -> None:
        """Receive the body before any work begins: a slow sender holds no place of the others.

        Raises `Problem` 413 and 503, and 400 where the sender leaves.
        """
        for name, value in scope["headers"]:
            if name == b"content-length" and int(value) > limits.body_bytes:
                raise _too_large(limits)
        message = await self._receive()
        parts = bytearray()
        while message["type"] == "http.request":
            part = message["body"]
            self.held += len(part)
            buffered.bytes += len(part)
            if self.held > limits.body_bytes:
                raise _too_large(limits)
            if buffered.bytes > limits.buffered_bytes:
                raise Problem(
                    503,
                    "Busy",
                    "the bodies of other requests take all memory there is: send it again later",
                    [(b"retry-after", b"1")],
                )
            if not message["more_body"]:
                if parts:
                    message["body"] = bytes(parts + part)
                self._body, self.complete = message, True
                return
            parts += part
            message = await self._receive()
        raise Problem(400, "CutOff", "the sender left before the end of the body")

    async def receive(self) -> Message:
        if self._body is None:
            return await self._receive()
        message, self._body = self._body, None
        return message

    async def send(self, message: Message) -> None:
        if self._replaced:
            return  # the former body of an error
        if not self.status and message["type"] == "http.response.start":
            status, headers = message["status"], message.get("headers", ())
            if status >= 400 and not _is_json(headers):
                kept = [(name, value) for name, value in headers if name.lower() in _KEPT]
                await self.refuse(problem_of(status, kept))
                self._replaced = True
                return
            self._begin(status)
        await self._send(message)

    async def refuse(self, problem: Problem) -> None:
        self._begin(problem.status)
        await send_problem(self._send, problem)

    def _begin(self, status: int) -> None:
        """An answer that has begun leaves the gate: how long it takes is up to its reader."""
        self.status = status
        if self.leave is not None:
            self.leave()
            self.leave = None


def _is_json(headers: object) -> bool:
    kind = dict(headers).get(JSON[0], b"")  # type: ignore[call-overload]
    return bool(kind.startswith(JSON[1]))


def _too_large(limits: Limits) -> Problem:
    return Problem(413, "TooLarge", f"a body may have {limits.body_bytes} bytes")
