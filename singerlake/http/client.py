"""A client for webhooks and transports: bounded in time and size, and discreet.

Addresses and headers may hold secrets (a webhook's path is one): errors name the host, nothing
else. Redirects are not followed: they would carry the secrets elsewhere.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import urllib3
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout, Url, parse_url

from singerlake.errors import ConfigError, NoAnswer
from singerlake.runtime import REAL, Runtime


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
        self._plain = urllib3.PoolManager(maxsize=self._options.connections, retries=False)
        if self._options.ca or self._options.certificate:
            _ = self._secure  # says now what is wrong with the files

    @cached_property
    def _secure(self) -> urllib3.PoolManager:
        """Made when it is needed: the system's certificates take a fiftieth of a second."""
        connections = self._options.connections
        context = _trust(self._options)
        return urllib3.PoolManager(maxsize=connections, ssl_context=context, retries=False)

    def close(self) -> None:
        self._plain.clear()
        if "_secure" in vars(self):
            self._secure.clear()

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
        timeout = Timeout(connect=options.connect_seconds, read=options.read_seconds)
        given = dict(headers or {})
        if address.auth:
            given |= urllib3.util.make_headers(basic_auth=address.auth)
        try:
            pool = self._secure if address.scheme == "https" else self._plain
            response = pool.request(
                method,
                address._replace(auth=None, fragment=None).url,
                body=body,
                headers=given,
                timeout=timeout,
                redirect=False,
                preload_content=False,
            )
            try:
                content = self._read(response, until, address)
            finally:
                response.release_conn()
        except (HTTPError, OSError, ValueError) as error:
            raise NoAnswer(f"{shown(address)}: no answer: {_reason(error)}") from None
        return Answer(response.status, dict(response.headers), content)

    def _read(self, response: urllib3.BaseHTTPResponse, until: float, address: Url) -> bytes:
        parts, size = [], 0
        for part in response.stream(64 * 1024, decode_content=False):
            parts.append(part)
            size += len(part)
            if size > self._options.answer_bytes:
                response.close()
                most = self._options.answer_bytes
                raise NoAnswer(f"{shown(address)}: expected an answer of at most {most} bytes")
            if self._runtime.monotonic() > until:
                response.close()
                raise NoAnswer(f"{shown(address)}: the answer did not end in time")
        return b"".join(parts)


def checked(url: str) -> Url:
    """The parts of an address of HTTP. Raises `ConfigError`, which does not quote it."""
    try:
        address = parse_url(url)
    except (HTTPError, ValueError):
        address = Url()
    if address.scheme not in ("http", "https") or not address.host:
        raise ConfigError("expected an address such as https://example.com/hook")
    return address


def shown(address: Url) -> str:
    """The address for people: no user, no path and no query, which may be secrets."""
    port = f":{address.port}" if address.port else ""
    return f"{address.scheme}://{address.host}{port}/…"


def _reason(error: Exception) -> str:
    """What happened, without the address that urllib3 quotes."""
    wrapped = [error, getattr(error, "reason", None), *error.args, error.__cause__]
    cause = next((one for one in wrapped if isinstance(one, OSError)), error)
    if isinstance(cause, ssl.SSLError):
        return f"TLS: {getattr(cause, 'verify_message', '') or cause.reason}"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return type(cause).__name__


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
