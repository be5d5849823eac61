"""A service: the kit around an app. One layer, so that a request pays for each duty once.

In this order: health, the token, the body, the gate, then the app, within the deadline; every error
is `{"code", "message"}`, and every answer is counted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection

from singerlake.errors import BusyError, SingerlakeError, Unavailable
from singerlake.http.answer import CLOSE, App, Problem, Receive, Scope, Send, send_body, send_json
from singerlake.http.exchange import Buffered, Exchange
from singerlake.http.gate import Gate
from singerlake.http.host import require_host
from singerlake.http.settings import DEFAULTS, Limits
from singerlake.http.token import Token
from singerlake.http.traffic import Traffic
from singerlake.metrics import Metrics
from singerlake.metrics.metrics import CONTENT_TYPE

logger = logging.getLogger(__name__)

HEALTH = frozenset({"/health", "/health/", "/healthz", "/readyz"})
METRICS = "/metrics"


def always_ready() -> str:
    return ""


class Service:
    """An ASGI app around another. `ready` says why the service cannot work now, or "" where it can:
    it is called on the event loop, and must not block. `hosts` are the names that it may be asked
    by; None is any."""

    def __init__(
        self,
        app: App,
        limits: Limits = DEFAULTS,
        *,
        token: Token | None = None,
        metrics: Metrics | None = None,
        ready: Callable[[], str] = always_ready,
        hosts: Collection[str] | None = None,
    ) -> None:
        self.limits = limits
        self.stopping = False
        self._app, self._token, self._metrics, self._ready = app, token, metrics, ready
        self._hosts = hosts
        self._gate, self._buffered = Gate(limits.working, limits.waiting), Buffered()
        self._traffic = None if metrics is None else Traffic(metrics, self._gate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        exchange = Exchange(receive, send)
        try:
            await self._within_deadline(scope, exchange)
        except Problem as problem:
            await self._refuse(exchange, problem)
        except SingerlakeError as error:
            await self._refuse(exchange, _problem_of_ours(error, scope))
        except asyncio.CancelledError:
            if not self.stopping:
                raise
            await self._refuse(exchange, _STOPPING)
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            await self._refuse(exchange, _FAULT)
        finally:
            self._buffered.bytes -= exchange.held
            seconds = time.perf_counter() - began
            if self._traffic is not None:
                self._traffic.count(scope, exchange.status, seconds)
            if logger.isEnabledFor(logging.INFO):
                # Without its query, which may hold what is nobody's business.
                words = (scope["method"], scope["path"], exchange.status, seconds * 1000)
                logger.info("%s %s: %d, %.1f ms", *words)

    async def _refuse(self, exchange: Exchange, problem: Problem) -> None:
        if exchange.status:
            # The answer has begun: only a connection that breaks says that it is not whole, and
            # that is what the server makes of an answer without an end.
            logger.warning("an answer broke off: %s", problem.message)
            return
        await exchange.refuse(problem)

    async def _within_deadline(self, scope: Scope, exchange: Exchange) -> None:
        """The deadline is for the beginning of an answer: how long the rest may take is a matter of
        its size, and of the reader's speed, which the protocol watches."""
        task = asyncio.current_task()
        expired = False

        def expire() -> None:
            nonlocal expired
            if not exchange.status and task is not None:
                expired = True
                task.cancel()

        timer = asyncio.get_running_loop().call_later(self.limits.request_seconds, expire)
        try:
            await self._answer(scope, exchange)
        except asyncio.CancelledError:
            if not expired:
                raise
            raise (_TOO_SLOW if exchange.complete else _SLOW_SENDER) from None
        finally:
            timer.cancel()

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        path = scope["path"]
        if path in HEALTH:
            await self._report_health(scope, exchange)
            return
        if self._hosts is not None:
            require_host(scope["headers"], self._hosts)
        if self._token is not None:
            self._token.require(scope["headers"])
        if path == METRICS and self._metrics is not None:
            _require_reading(scope)
            kind = (b"content-type", CONTENT_TYPE.encode())
            await send_body(exchange.send, 200, self._metrics.text(), [kind])
            return
        await exchange.take_body(scope, self.limits, self._buffered)
        await self._gate.enter()
        exchange.leave = self._gate.leave
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            if exchange.leave is not None:
                exchange.leave()
                exchange.leave = None

    async def _report_health(self, scope: Scope, exchange: Exchange) -> None:
        _require_reading(scope)
        if scope["path"] == "/readyz":
            reason = "the service is stopping" if self.stopping else self._ready()
            if reason:
                raise Problem(503, "NotReady", reason)
        await send_json(exchange.send, {"status": "ok"})


def _require_reading(scope: Scope) -> None:
    if scope["method"] not in ("GET", "HEAD"):
        raise Problem(405, "MethodNotAllowed", "expected GET or HEAD", [(b"allow", b"GET, HEAD")])


def _problem_of_ours(error: SingerlakeError, scope: Scope) -> Problem:
    """Without the error's own text, which may name what a stranger must not know."""
    passing = isinstance(error, (BusyError, Unavailable))
    logger.log(
        logging.WARNING if passing else logging.ERROR,
        "%s %s: %s: %s",
        scope["method"],
        scope["path"],
        type(error).__name__,
        error,
    )
    return _NOT_NOW if passing else _FAULT


_FAULT = Problem(500, "InternalServerError", "the service failed; its log says why")
_NOT_NOW = Problem(
    503,
    "Unavailable",
    "what the service needs does not answer now: send the request again later",
    [(b"retry-after", b"5")],
)
_TOO_SLOW = Problem(
    503, "Timeout", "the service did not find an answer in time", [(b"retry-after", b"5")]
)
_STOPPING = Problem(
    503, "Stopping", "the service stops: send it again later", [(b"retry-after", b"1"), CLOSE]
)
_SLOW_SENDER = Problem(408, "RequestTimeout", "the body did not come in time", [CLOSE])
