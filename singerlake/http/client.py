"""A client for webhooks and transports: bounded in time and size, and discreet.

Addresses and headers may hold secrets (a webhook's path is one): errors name the host, nothing
else. Redirects are not followed: they would carry the secrets elsewhere. It stands on the standard
library: what it imports is a part of the start-up of every run that has lineage.
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path

from singerlake.errors import ConfigError, NoAnswer
from singerlake.http.address import Address, checked, shown
from singerlake.http.connections import Connections
from singerlake.runtime import REAL, Runtime

CHUNK = 64 * 1024


@dataclass(frozen=True)
class ClientOptions:
    """`ca` is a file of certificates to trust instead of the system's; `certificate` and `key`
    are who we are. `total_seconds` bounds a whole exchange, however slowly the answer comes."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    total_seconds: float = 60.0
    answer_bytes: int = 1024 * 1024
    connections: int = 4
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """Keeps connections open between requests. For any thread."""

    def __init__(self, options: ClientOptions | None = None, runtime: Runtime = REAL) -> None:
        self._options, self._runtime = options or ClientOptions(), runtime
        self._connections = Connections(self._options.connections)
        if self._options.ca or self._options.certificate:
            _ = self._trust  # says now what is wrong with the files

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """Made when it is needed: the system's certificates take a fiftieth of a second."""
        return _trust(self._options)

    def close(self) -> None:
        self._connections.close()

    def post(self, url: str, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        return self.request("POST", url, body, headers)

    def request(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer, whatever its status. Raises `ConfigError` for what is no address, and
        `NoAnswer` where none came, or more than was allowed."""
        address, options = checked(url), self._options
        until = self._runtime.monotonic() + options.total_seconds
        given = {"User-Agent": "singerlake", **(headers or {})}
        if address.auth:
            given["Authorization"] = f"Basic {b64encode(address.auth.encode()).decode()}"
        trust = self._trust if address.scheme == "https" else None
        try:
            connection = self._connections.take(address, options.connect_seconds, trust)
            try:
                connection.sock.settimeout(options.read_seconds)
                response = _exchanged(connection, method, address.target, body, given)
                if response.status < 200:  # what comes behind it would answer the next request
                    raise NoAnswer(f"{shown(address)}: HTTP {response.status} is no answer")
                content = self._read(response, until, address)
            except BaseException:
                connection.close()
                raise
            self._connections.give_back(address, connection)
        except (HTTPException, OSError, ValueError) as error:
            raise NoAnswer(f"{shown(address)}: no answer: {_reason(error)}") from None
        return Answer(response.status, dict(response.getheaders()), content)

    def _read(self, response: HTTPResponse, until: float, address: Address) -> bytes:
        parts, size = [], 0
        while part := response.read1(CHUNK):
            parts.append(part)
            size += len(part)
            if size > self._options.answer_bytes:
                most = self._options.answer_bytes
                raise NoAnswer(f"{shown(address)}: expected an answer of at most {most} bytes")
            if self._runtime.monotonic() > until:
                raise NoAnswer(f"{shown(address)}: the answer did not end in time")
        if response.length:
            raise NoAnswer(f"{shown(address)}: the answer ended {response.length} bytes too early")
        response.close()  # else the connection takes no other request
        return b"".join(parts)


def _exchanged(
    connection: HTTPConnection,
    method: str,
    target: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> HTTPResponse:
    """The head of the answer. A server may refuse a large body by its head, answer, and close
    before all of it is sent: that is an answer too, else it would be asked again for ever."""
    try:
        connection.request(method, target, body, headers)
    except (ConnectionError, ssl.SSLEOFError) as error:
        try:
            return connection.getresponse()
        except (HTTPException, OSError):
            raise error from None
    return connection.getresponse()


def _reason(error: Exception) -> str:
    """What happened, without anything of the address."""
    if isinstance(error, ssl.SSLError):
        return f"TLS: {getattr(error, 'verify_message', '') or error.reason or 'it ended'}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__


def _trust(options: ClientOptions) -> ssl.SSLContext:
    """Raises `ConfigError` where a file is missing, or is no certificate."""
    try:
        context = ssl.create_default_context(cafile=options.ca)
        if options.certificate is not None:
            context.load_cert_chain(options.certificate, options.key)
    except (OSError, ValueError) as error:
        files = [str(one) for one in (options.ca, options.certificate, options.key) if one]
        raise ConfigError(f"{', '.join(files)}: expected certificates in PEM: {error}") from error
    return context
