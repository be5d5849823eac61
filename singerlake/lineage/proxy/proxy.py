"""The proxy, put together: buffer, consumers, a keeper, and the app that takes events."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from singerlake.errors import ConfigError
from singerlake.http.settings import Limits as HttpLimits
from singerlake.lineage.buffer import Buffer, Limits
from singerlake.lineage.proxy.consumer import DEFAULT_BACKOFF, Consumer, Order
from singerlake.lineage.proxy.courier import Backoff
from singerlake.lineage.proxy.failed import FailedEventHandler
from singerlake.lineage.proxy.intake import Intake
from singerlake.lineage.proxy.meters import Meters
from singerlake.lineage.proxy.router import Router
from singerlake.lineage.schema.validator import Validator
from singerlake.lineage.transport.base import Transport
from singerlake.metrics import Metrics
from singerlake.runtime import REAL, Runtime

logger = logging.getLogger(__name__)

KEEP_SECONDS = 1.0
STOP_SECONDS = 8.0


@dataclass(frozen=True)
class Settings:
    """`accepted` is the status that a sender gets for an event that is safe."""

    folder: Path
    limits: Limits
    order: Order = "global"
    accepted: int = 200
    backoff: Backoff = DEFAULT_BACKOFF


class Proxy:
    def __init__(
        self,
        settings: Settings,
        transports: Sequence[Transport],
        validator: Validator,
        failed: FailedEventHandler,
        metrics: Metrics,
        http_limits: HttpLimits,
        runtime: Runtime = REAL,
    ) -> None:
        """Raises `LockTimeout`, `UnsupportedFormat` and `ConfigError`."""
        names = [one.name for one in transports]
        if len({*names}) < len(names):
            raise ConfigError(f"expected backends that differ, found one twice: {sorted(names)}")
        self._settings, self._runtime, self._meters = settings, runtime, Meters(metrics)
        self._transports, self._failed = transports, failed
        self.buffer = Buffer(settings.folder, names, settings.limits, runtime)
        self._intake = Intake(self.buffer, validator, failed, self._meters)
        self.app = Router(self._intake, http_limits, settings.accepted)
        self.consumers = [
            Consumer(self.buffer, one, settings.order, settings.backoff, runtime)
            for one in transports
        ]
        self._stopping = threading.Event()
        self._keeper = runtime.start(self._keep, "singerlake-lineage-keeper")

    def ready(self) -> str:
        """Why events cannot be taken now; "" where they can. A backend's outage is no reason."""
        return "events cannot be written now" if self._intake.unavailable else ""

    def _keep(self) -> None:
        while not self._runtime.wait(self._stopping, KEEP_SECONDS):
            self._look_after()

    def _look_after(self) -> None:
        limit = self._settings.limits.failing_seconds
        failing = [one.name for one in self.consumers if one.health.failing_seconds > limit]
        try:
            self.buffer.keep(failing)
            self._intake.try_again()
            self._show()
        except (sqlite3.Error, OSError) as error:
            logger.error("the buffer cannot be looked after now: %s", error)
        except Exception:  # the keeper must live on, or nothing is ever deleted
            logger.exception("the buffer cannot be looked after now")

    def _show(self) -> None:
        meters = self._meters
        for one in self.consumers:
            meters.lag.labels(one.name).set(self.buffer.lag(one.name))
            meters.lag_bytes.labels(one.name).set(self.buffer.lag_bytes(one.name))
            meters.head_age.labels(one.name).set(one.health.head_age)
            meters.failing.labels(one.name).set(one.health.failing_seconds)
            meters.retries.labels(one.name).inc(one.health.take_retries())
        meters.show_kept(self.buffer.state.counters(), self.buffer.shelf.gaps.lost)
        # Last: who sees it knows that the others are shown.
        meters.partitions.set(len(self.buffer.shelf.partitions()))

    def close(self) -> None:
        """Write what waits, let sends end, save checkpoints. What hangs is left: it is sent again
        after the next start."""
        self._stopping.set()
        for one in self.consumers:
            one.stop()
        until = self._runtime.monotonic() + STOP_SECONDS
        ended = [one.join(max(0.0, until - self._runtime.monotonic())) for one in self.consumers]
        self._keeper.join()
        self._look_after()
        self.buffer.close()
        if all(ended):
            for transport in self._transports:
                transport.close()
        self._failed.close()
