"""The protocol of a connection: uvicorn's, with deadlines and bounds that uvicorn has not.

A connection that sends its head or body too slowly, or takes its answer too slowly, is cut. Nobody
sets timers for that: `Server` looks at all connections twice a second, which costs a busy
connection nothing.
"""

from __future__ import annotations

import asyncio
import math
from enum import Enum
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from singerlake.http.answer import (
    CLOSE,
    Problem,
    Receive,
    Scope,
    Send,
    raw_answer,
    send_problem,
)
from singerlake.http.settings import Limits

GRACE_SECONDS = 2.0
"""The service itself answers what is late; after these the connection is cut without an answer."""

OVERHEAD = 16
"""A body in chunks of one byte takes six bytes for each; what comes past this factor is no body."""


class LimitedConfig(Config):
    """uvicorn's configuration, and our limits."""

    limits: Limits


class Phase(Enum):
    """What the connection waits for from its client."""

    REQUEST = 0
    HEAD = 1
    BODY = 2
    NOTHING = 3


class Protocol(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(config, LimitedConfig)
        self.limits = config.limits
        self.phase = Phase.REQUEST
        self.since = self.loop.time()
        self._stalled = math.inf
        self._head = self._request = 0
        self._is_first = True

    # What uvicorn calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._enter(Phase.REQUEST)
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        if self.phase is Phase.REQUEST:
            # Not at the parser's word, which passes over blank lines ahead of a request.
            self._enter(Phase.HEAD)
            self._request, self._is_first = 0, True
        self._request += len(data)
        super().data_received(data)
        if self.phase is Phase.HEAD and self._request > self.limits.head_bytes:
            self._refuse(_LONG_HEAD)
        elif self._request > self.limits.head_bytes + OVERHEAD * self.limits.body_bytes:
            self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._enter(Phase.HEAD)
        self._head = 0
        if not self._is_first:
            self._request = 0  # it follows another in one piece, whose bytes are not its own
        self._is_first = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head += len(name) + len(value)
        if self._head > self.limits.head_bytes:
            raise _TooMuch
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._enter(Phase.BODY)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._enter(Phase.NOTHING)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Where another request is in the pipeline, its work has begun.
        if self.phase is Phase.NOTHING and self.timeout_keep_alive_task is not None:
            self._enter(Phase.REQUEST)

    def pause_writing(self) -> None:
        self._stalled = self.loop.time() + self.limits.stall_seconds
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled = math.inf
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        too_long = self._head > self.limits.head_bytes
        self._refuse(_LONG_HEAD if too_long else Problem(400, "BadRequest", msg))

    # What the server calls

    def look(self, now: float) -> None:
        """Cut the connection where it is late."""
        if self.transport.is_closing():
            # What is left to write may never be taken.
            self._stalled = min(self._stalled, now + self.limits.stall_seconds)
        if now > self._stalled:
            self.transport.abort()
        elif now > self._due():
            if self.phase is Phase.HEAD:
                self._refuse(_SLOW_HEAD)
            elif self.phase is Phase.BODY:
                self.transport.abort()
            else:
                self.transport.close()

    def _due(self) -> float:
        if self.phase is Phase.HEAD:
            return self.since + self.limits.head_seconds
        if self.phase is Phase.BODY:
            return self.since + self.limits.request_seconds + GRACE_SECONDS
        # After an answer, uvicorn waits for the next request by itself.
        return self.since + self.limits.head_seconds if self.cycle is None else math.inf

    def _enter(self, phase: Phase) -> None:
        self.phase, self.since = phase, self.loop.time()

    def _refuse(self, problem: Problem) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(raw_answer(problem))
        self.transport.close()

    def _make_room(self) -> None:
        """Close the connection that has waited for longest, so that those who send slowly or
        nothing shut nobody out."""
        others = [one for one in self.connections if isinstance(one, Protocol) and one is not self]
        for phase in (Phase.REQUEST, Phase.HEAD):
            waiting = [
                one for one in others if one.phase is phase and not one.transport.is_closing()
            ]
            if waiting:
                min(waiting, key=_since).transport.close()
                return
        if len(self.connections) > 2 * self.limits.connections:
            self.transport.abort()
        else:
            self.app = _busy


def _since(connection: Protocol) -> float:
    return connection.since


async def _busy(scope: Scope, receive: Receive, send: Send) -> None:
    await send_problem(send, _BUSY)


class _TooMuch(Exception):
    """The parser passes it on as an error of its own."""


_BUSY = Problem(
    503, "Busy", "too many connections: send it again later", [(b"retry-after", b"1"), CLOSE]
)
_LONG_HEAD = Problem(431, "HeadTooLarge", "the request line and its headers are too long")
_SLOW_HEAD = Problem(408, "RequestTimeout", "the head of the request did not come in time")
