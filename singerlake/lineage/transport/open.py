"""A transport from its address."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from singerlake.errors import ConfigError
from singerlake.http.client import ClientOptions
from singerlake.lineage.transport.base import Transport
from singerlake.lineage.transport.file import FileTransport
from singerlake.lineage.transport.http import HttpTransport

FORMS = "http://HOST:PORT, https://HOST/PATH, kafka://SERVER:PORT/TOPIC or file:PATH"


@dataclass(frozen=True)
class Reach:
    """What the addresses do not say: `key` is the backend's API key, `kafka` librdkafka's own
    settings."""

    key: str | None = field(default=None, repr=False)
    client: ClientOptions = field(default_factory=ClientOptions)
    kafka: dict[str, Any] = field(default_factory=dict, repr=False)
    lanes: int = 1


def open_transport(address: str, reach: Reach) -> Transport:
    """Raises `ConfigError`."""
    scheme, _, rest = address.partition(":")
    if scheme in ("http", "https"):
        return HttpTransport(address, reach.key, reach.client, reach.lanes)
    if scheme == "file" and rest.strip("/"):
        path = unquote(urlsplit(address).path) if rest.startswith("//") else rest
        return FileTransport(Path(path))
    if scheme == "kafka":
        servers, _, topic = rest.removeprefix("//").partition("/")
        if servers and topic:
            from singerlake.lineage.transport.kafka import KafkaTransport

            return KafkaTransport(servers, topic, reach.kafka)
    raise ConfigError(f"expected a backend as {FORMS}, found a {scheme!r} address of another form")
