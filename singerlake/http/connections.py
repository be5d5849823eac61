"""Connections to servers that are kept open between requests."""

from __future__ import annotations

import selectors
import ssl
import threading
import weakref
from collections import deque
from http.client import HTTPConnection, HTTPSConnection

from singerlake.http.address import Address

_Server = tuple[str, str, "int | None"]


class Connections:
    """At most so many that nobody uses are kept. For any thread.

    They are closed with `close`, or once nobody holds this object any more.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._idle: deque[tuple[_Server, HTTPConnection]] = deque()
        weakref.finalize(self, _close_all, self._idle)

    def take(
        self, address: Address, connect_seconds: float, trust: ssl.SSLContext | None
    ) -> HTTPConnection:
        """A connection that is open. Raises `OSError`."""
        server = _server(address)
        while (kept := self._kept(server)) is not None:
            if not _has_ended(kept):
                return kept
            kept.close()
        host, port = address.host, address.port
        connection = (
            HTTPConnection(host, port, timeout=connect_seconds)
            if trust is None
            else HTTPSConnection(host, port, timeout=connect_seconds, context=trust)
        )
        connection.connect()
        return connection

    def give_back(self, address: Address, connection: HTTPConnection) -> None:
        """Keep it, if its server does: then the answer was read to its end."""
        if connection.sock is None:
            return
        with self._lock:
            self._idle.append((_server(address), connection))
            spare = self._idle.popleft()[1] if len(self._idle) > self._most else None
        if spare is not None:
            spare.close()

    def close(self) -> None:
        with self._lock:
            _close_all(self._idle)

    def _kept(self, server: _Server) -> HTTPConnection | None:
        with self._lock:
            for at in reversed(range(len(self._idle))):
                if self._idle[at][0] == server:
                    connection = self._idle[at][1]
                    del self._idle[at]
                    return connection
        return None


def _close_all(idle: deque[tuple[_Server, HTTPConnection]]) -> None:
    while idle:
        idle.pop()[1].close()


def _server(address: Address) -> _Server:
    return address.scheme, address.host, address.port


def _has_ended(connection: HTTPConnection) -> bool:
    """Whether the server has closed it: nobody was asked, so nothing should be there to read."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))
