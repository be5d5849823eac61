"""statsd: what a registry counted since the last time, as lines over UDP.

A counter is sent as its growth (`|c`), a gauge as its value (`|g`), a histogram as the growth of
its count and its sum. Labels become tags as DogStatsD, Telegraf and Vector read them, or parts of
the name where a server knows no tags. A packet that is lost is lost: the text that Prometheus
reads stays exact.
"""

from __future__ import annotations

import logging
import math
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from singerlake.errors import ConfigError
from singerlake.metrics.metrics import Metrics
from singerlake.runtime import REAL, Runtime

logger = logging.getLogger(__name__)

PACKET = 1432
"""The most bytes that reach a server over Ethernet in one piece."""

PORT = 8125
EVERY_SECONDS = 10.0

Tags = Literal["tags", "name"]
_GROWS = ("_total", "_count", "_sum")
_UNSAFE = re.compile(r"[^A-Za-z0-9_\-/]+")


@dataclass(frozen=True)
class Address:
    host: str
    port: int = PORT


def parse(text: str) -> Address:
    """The address in `HOST`, `HOST:PORT` or `[IPV6]:PORT`. Raises `ConfigError`."""
    found = re.fullmatch(r"(\[[^\]]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?", text)
    if found is None or not 0 < int(found[2] or PORT) < 65536:
        raise ConfigError(f"expected the address of statsd as HOST:PORT, found {text!r}")
    return Address(found[1].strip("[]"), int(found[2] or PORT))


class Push:
    """Sends the growth since the last `send`. For one thread."""

    def __init__(self, metrics: Metrics, address: Address, labels: Tags = "tags") -> None:
        self._metrics, self._labels = metrics, labels
        self._sent: dict[str, float] = {}
        try:
            found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_DGRAM)
        except OSError as error:
            raise ConfigError(f"statsd at {address.host}: {error}") from error
        self._to = found[0][4]
        self._socket = socket.socket(found[0][0], socket.SOCK_DGRAM)

    def send(self) -> None:
        """Send all that changed, in as few packets as hold it. Errors of the network are logged:
        numbers must not stop a service."""
        packet = b""
        for line in self._lines():
            if packet and len(packet) + 1 + len(line) > PACKET:
                self._post(packet)
                packet = b""
            packet += b"\n" + line if packet else line
        if packet:
            self._post(packet)

    def close(self) -> None:
        self._socket.close()

    def _post(self, packet: bytes) -> None:
        try:
            self._socket.sendto(packet, self._to)
        except OSError as error:
            logger.info("statsd did not take a packet: %s", error)

    def _lines(self) -> Iterator[bytes]:
        for family in self._metrics.registry.collect():
            for sample in family.samples:
                name, tags = self._named(sample.name, sample.labels)
                hidden = sample.name.endswith("_created") or "le" in sample.labels
                if hidden or not math.isfinite(sample.value):
                    continue
                if family.type in ("counter", "histogram") and sample.name.endswith(_GROWS):
                    growth = sample.value - self._sent.get(name + tags, 0.0)
                    self._sent[name + tags] = sample.value
                    if growth:
                        yield f"{name}:{_number(growth)}|c{tags}".encode()
                elif family.type == "gauge":
                    if sample.value < 0:  # a sign would mean a change, not a value
                        yield f"{name}:0|g{tags}".encode()
                    yield f"{name}:{_number(sample.value)}|g{tags}".encode()

    def _named(self, name: str, labels: dict[str, str]) -> tuple[str, str]:
        name = name.removesuffix("_total")
        pairs = [(key, _UNSAFE.sub("_", value)) for key, value in sorted(labels.items())]
        if self._labels == "name" or not pairs:
            return ".".join((name, *(value for _, value in pairs))), ""
        return name, "|#" + ",".join(f"{key}:{value}" for key, value in pairs)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


@contextmanager
def pushing(
    metrics: Metrics,
    address: Address,
    labels: Tags = "tags",
    every: float = EVERY_SECONDS,
    runtime: Runtime = REAL,
) -> Iterator[None]:
    """Send every so many seconds, from a thread, and once more at the end."""
    push, ended = Push(metrics, address, labels), threading.Event()

    def send_until_the_end() -> None:
        while not runtime.wait(ended, every):
            push.send()
        push.send()
        push.close()

    thread = runtime.start(send_until_the_end, "singerlake-statsd")
    try:
        yield
    finally:
        ended.set()
        thread.join()
