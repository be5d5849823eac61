"""Traffic: the requests of a service as metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from singerlake.http.answer import Scope
from singerlake.http.gate import Gate
from singerlake.metrics import Metrics

if TYPE_CHECKING:
    from prometheus_client import Counter


class Traffic:
    """Counts by method, route and status: a route's name, never a path, of which there is no
    end."""

    def __init__(self, metrics: Metrics, gate: Gate) -> None:
        self._requests = metrics.counter(
            "http_requests", "Requests by route and status.", ("method", "route", "status")
        )
        self._seconds = metrics.histogram(
            "http_request_seconds", "From the head of a request to the end of its answer."
        )
        metrics.gauge("http_waiting_requests", "Requests that wait until others end.").set_function(
            lambda: gate.waiting
        )
        self._known: dict[tuple[str, str, int], Counter] = {}

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """`status` is 0 where the client left before the answer."""
        key = (scope["method"], _route(scope), status)
        known = self._known.get(key)
        if known is None:
            method, route, _ = key
            known = self._requests.labels(method, route, str(status) if status else "none")
            self._known[key] = known
        known.inc()
        self._seconds.observe(seconds)


def _route(scope: Scope) -> str:
    name: str | None = scope.get("route_name")
    return name if name is not None else getattr(scope.get("route"), "path", "")
