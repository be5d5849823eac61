"""A webhook: notifications that come over HTTP, from stores that send them so."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from singerlake.errors import BadNotification
from singerlake.http.answer import Problem, encode
from singerlake.http.body import read_body
from singerlake.http.settings import Limits
from singerlake.http.workers import Workers
from singerlake.index.notification.ingestion import Ingestion
from singerlake.index.notification.message import parse_message

PATH = "/v0/notifications"


def webhook_app(ingestion: Ingestion, limits: Limits) -> Router:
    """POST a notification of S3, with or without the envelope of SNS. A passing fault is a 503, so
    that the sender tries again."""
    workers = Workers(4)

    async def take(request: Request) -> Response:
        body = await read_body(request.scope, request.receive, limits)
        try:
            parse_message(body)
        except BadNotification as error:
            raise Problem(400, "BadNotification", str(error)) from None
        taken = await workers.run(lambda: ingestion.take(body))
        return Response(encode({"taken": taken}), media_type="application/json")

    return Router([Route(PATH, take, methods=["POST"])], redirect_slashes=False)
