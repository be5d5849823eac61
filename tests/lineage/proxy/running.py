"""The proxy in this process, behind the real HTTP kit, with what tests look into."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import Limits as HttpLimits
from singerlake.http.settings import Listen
from singerlake.http.token import Token
from singerlake.lineage.buffer import Limits
from singerlake.lineage.proxy.consumer import Order
from singerlake.lineage.proxy.courier import Backoff
from singerlake.lineage.proxy.proxy import Proxy, Settings
from singerlake.lineage.schema.problem import Problem
from singerlake.lineage.schema.validator import Validator
from singerlake.lineage.transport.base import Transport
from singerlake.metrics import Metrics

QUICK = Backoff(first_seconds=0.01, most_seconds=0.05)


@dataclass
class Kept:
    """A handler of failed events that keeps them."""

    events: list[tuple[bytes, list[Problem]]] = field(default_factory=list)

    def handle(self, event: bytes, problems: Sequence[Problem]) -> None:
        self.events.append((event, list(problems)))

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Running:
    url: str
    proxy: Proxy
    failed: Kept
    metrics: Metrics

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        address = urlsplit(self.url)
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def post(self, event: bytes, path: str = "/api/v1/lineage", **headers: str) -> int:
        return self.ask("POST", path, event, **headers)[0]

    def metric(self, name: str) -> float:
        self.proxy._look_after()
        lines = self.metrics.text().decode().splitlines()
        values = [
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith(f"singerlake_lineage_{name}") and "_created" not in line
        ]
        return sum(values)


@contextmanager
def running(
    folder: Path,
    validator: Validator,
    *transports: Transport,
    limits: Limits | None = None,
    http_limits: HttpLimits | None = None,
    order: Order = "global",
    accepted: int = 200,
    token: Token | None = None,
) -> Iterator[Running]:
    metrics, failed = Metrics.create(process=False), Kept()
    settings = Settings(folder, limits or Limits(free_bytes=0), order, accepted, QUICK)
    granted = http_limits or HttpLimits()
    proxy = Proxy(settings, transports, validator, failed, metrics, granted)
    try:
        service = Service(proxy.app, granted, token=token, metrics=metrics, ready=proxy.ready)
        with serving(service, Listen()) as url:
            yield Running(url, proxy, failed, metrics)
    finally:
        proxy.close()


def wait_until_sent(one: Running, count: int) -> None:
    (consumer,) = one.proxy.consumers
    for _ in range(3000):
        counted = one.proxy.buffer.state.counters()
        done = sum(counted.get((name, consumer.name), 0) for name in ("sent", "dead"))
        if done >= count:
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"{counted}")
