"""Settings of a service: where it listens, and what it grants to those who ask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from singerlake.errors import ConfigError

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True)
class Listen:
    """Where a service listens. Port 0 takes a free one."""

    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    """PEM files; without a key, the certificate's file holds it."""

    @property
    def is_public(self) -> bool:
        """Whether other machines can reach the service."""
        return self.host not in LOOPBACK

    def url(self, port: int) -> str:
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{port}"


def parse_listen(text: str) -> tuple[str, int]:
    """The host and port in `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, which is every address.

    Raises `ConfigError`.
    """
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.%a-z]+\]|[^\s:\[\]/]*):([0-9]{1,5})", text)
    if found is None or int(found[2]) > 65535:
        raise ConfigError(
            f"expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080, found {text!r}"
        )
    return found[1].strip("[]") or "0.0.0.0", int(found[2])


@dataclass(frozen=True)
class Limits:
    """What one service grants. Bytes and counts bound its memory, seconds free what a slow or dead
    client holds."""

    head_bytes: int = 64 * 1024
    """The request line and its headers."""
    body_bytes: int = 8 * 1024 * 1024
    """A body as it was sent."""
    unpacked_bytes: int = 32 * 1024 * 1024
    """A body of gzip, when it is unpacked."""
    buffered_bytes: int = 64 * 1024 * 1024
    """The bodies of all requests together; the next get 503 with Retry-After."""
    head_seconds: float = 10.0
    """From a connection, or the first byte of a request, to the end of its head."""
    request_seconds: float = 30.0
    """From the end of the head to the beginning of the answer: the body and the work."""
    stall_seconds: float = 30.0
    """Within these a client must take 48 KiB of an answer."""
    idle_seconds: float = 60.0
    """How long a connection may wait for its next request."""
    connections: int = 800
    """Past these, a new one takes the place of the connection that has been idle for longest, or
    has been sending its head for longest; where all others are at work, it gets 503."""
    working: int = 64
    """Requests that are worked on at once, until their answers begin."""
    waiting: int = 256
    """Requests that wait for others to end; the next get 503 with Retry-After."""
    stop_seconds: float = 8.0
    """How long a stop waits for requests that are under way."""


DEFAULTS = Limits()
