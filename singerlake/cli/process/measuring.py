"""The numbers of a processor, for Prometheus and statsd."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from singerlake.errors import ConfigError, SingerlakeError
from singerlake.metrics import Metrics, statsd
from singerlake.processor import Engine
from singerlake.processor.observer import MetricsObserver, Observer

logger = logging.getLogger("singerlake.processor")

LOOK_SECONDS = 15.0


@contextmanager
def measuring(
    engine: Engine, address: str | None, statsd_address: str | None
) -> Iterator[Observer]:
    """An observer whose numbers are served, and pushed, where that is asked for."""
    if address is None and statsd_address is None:
        yield Observer()
        return
    metrics, ended = Metrics.create(), threading.Event()
    observer = MetricsObserver(metrics)

    def look() -> None:
        while True:
            try:
                observer.look(engine)
            except SingerlakeError as error:
                logger.info("the engine cannot be counted now: %s", error)
            if engine.runtime.wait(ended, LOOK_SECONDS):
                return

    with ExitStack() as stack:
        if address is not None:
            from prometheus_client import start_http_server

            where = statsd.parse(address)
            try:
                server, _ = start_http_server(where.port, where.host, metrics.registry)
            except OSError as error:
                raise ConfigError(f"--metrics {address}: {error.strerror or error}") from error
            stack.callback(server.shutdown)
        if statsd_address is not None:
            stack.enter_context(statsd.pushing(metrics, statsd.parse(statsd_address)))
        thread = engine.runtime.start(look, "singerlake-counts")
        stack.callback(thread.join)
        stack.callback(ended.set)
        yield observer
