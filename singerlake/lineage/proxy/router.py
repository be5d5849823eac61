"""The routes: one event, a batch of events."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from singerlake.http.answer import (
    JSON,
    Problem,
    Receive,
    Scope,
    Send,
    encode,
    send_body,
    send_json,
)
from singerlake.http.body import read_body
from singerlake.http.settings import Limits
from singerlake.lineage.proxy.intake import Intake
from singerlake.lineage.schema.nesting import values_at_most
from singerlake.lineage.schema.problem import as_json

ONE = "/api/v1/lineage"
BATCH = "/api/v1/lineage/batch"
MOST_EVENTS = 1000
MOST_VALUES = 2_000_000
TURN = 20

_batch = msgspec.json.Decoder(list[msgspec.Raw])


class Router:
    """A raw ASGI app: one event costs too little for more."""

    def __init__(self, intake: Intake, limits: Limits, accepted: int = 200) -> None:
        self._intake, self._limits, self._accepted = intake, limits, accepted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _lifespan(receive, send)
            return
        path = scope["path"].rstrip("/")
        if path not in (ONE, BATCH):
            raise Problem(404, "NotFound", f"expected {ONE} or {BATCH}")
        scope["route_name"] = path
        if scope["method"] != "POST":
            raise Problem(405, "MethodNotAllowed", "expected POST", [(b"allow", b"POST")])
        body = await read_body(scope, receive, self._limits)
        if path == ONE:
            await self._one(body, send)
        else:
            await self._several(body, send)

    async def _one(self, event: bytes, send: Send) -> None:
        problems = self._intake.problems(event)
        if problems:
            reasons = "; ".join(map(str, problems[:3]))
            answer = {"code": "InvalidEvent", "message": reasons, "problems": as_json(problems)}
            await send_body(send, 400, encode(answer), (JSON,))
            return
        await self._intake.keep([event])
        await send_body(send, self._accepted, b"")

    async def _several(self, body: bytes, send: Send) -> None:
        """Good events of a batch are kept whatever the others are, all in one transaction."""
        if values_at_most(body) > MOST_VALUES:
            raise Problem(413, "TooLarge", f"a batch may have {MOST_VALUES:,} values: divide it")
        try:
            events = _batch.decode(body)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise Problem(400, "BadBatch", f"expected a JSON array of events: {error}") from None
        if len(events) > MOST_EVENTS:
            raise Problem(413, "TooLarge", f"a batch may have {MOST_EVENTS} events")
        good: list[bytes] = []
        failed: list[dict[str, Any]] = []
        for index, event in enumerate(map(bytes, events)):
            if index % TURN == TURN - 1:
                await asyncio.sleep(0)  # others have a turn
            problems = self._intake.problems(event)
            if problems:
                reason = "; ".join(map(str, problems[:3]))
                failed.append({"index": index, "reason": reason, "retriable": False})
            else:
                good.append(event)
        if good:
            await self._intake.keep(good)
        await send_json(send, _summary(len(events), failed))


def _summary(received: int, failed: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "status": "partial_success" if failed else "success",
        "summary": {
            "received": received,
            "successful": received - len(failed),
            "failed": len(failed),
            "retriable": 0,
            "non_retriable": len(failed),
        },
        "failed_events": failed,
    }


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
