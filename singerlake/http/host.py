"""Hosts: the names under which a service may be asked.

A page in somebody's browser can have a name of its own lead to 127.0.0.1, and would read what is
served there to that machine alone. The name that it asks for gives it away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from singerlake.http.answer import Header, Problem


def require_host(headers: Iterable[Header], hosts: Collection[str]) -> None:
    """Raises `Problem` 421 where another host is meant."""
    given = next((value for name, value in headers if name == b"host"), b"")
    if host_of(f"//{given.decode('latin-1')}") not in hosts:
        raise Problem(
            421, "MisdirectedRequest", "ask for this service by the address that it is served at"
        )


def host_of(url: str) -> str | None:
    """The host in an address, without its port."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
