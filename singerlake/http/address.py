"""The address of an HTTP server, in its parts."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from singerlake.errors import ConfigError

_ALLOWED = "/%:@!$&'()*+,;=~-._?"
"""What stays as it is in a path or a query: an escape is not escaped again."""


@dataclass(frozen=True)
class Address:
    """`auth` is `user:password`, as it is sent; the host of IPv6 has no brackets."""

    scheme: str
    host: str
    port: int | None
    auth: str
    path: str
    query: str

    @property
    def target(self) -> str:
        """Path and query, as a request names them."""
        path = quote(self.path or "/", safe=_ALLOWED)
        return f"{path}?{quote(self.query, safe=_ALLOWED)}" if self.query else path


def checked(url: str) -> Address:
    """The parts of an address of HTTP. Raises `ConfigError`, which does not quote it."""
    try:
        if any(character <= " " or character == "\x7f" for character in url):
            raise ValueError
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
        if host:
            host.encode("idna")
    except ValueError:  # of Unicode too
        scheme = host = ""
    if scheme not in ("http", "https") or not host:
        raise ConfigError("expected an address such as https://example.com/hook")
    auth, at, _ = parts.netloc.rpartition("@")
    user, _, password = auth.partition(":")
    sent = f"{unquote(user)}:{unquote(password)}" if at else ""
    return Address(scheme, host, port, sent, parts.path, parts.query)


def shown(address: Address) -> str:
    """The address for people: no user, no path and no query, which may be secrets."""
    return f"{origin(address)}/…"


def origin(address: Address) -> str:
    """Scheme, host and port, as the user gave them."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{address.scheme}://{host}{f':{address.port}' if address.port else ''}"
