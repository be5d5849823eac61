"""HTTP by hand, over real sockets: what no well-behaved client would send."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60.0
"""Longer than anything takes: a wait that reaches it is a failure."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def connection(url: str) -> Iterator[socket.socket]:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=SECONDS) as opened:
        yield opened


def read_answer(opened: socket.socket) -> Answer | None:
    """One answer, by its content-length or chunks; None where the connection ended before it."""
    reader = opened.makefile("rb")
    try:
        status = reader.readline()
        if not status:
            return None
        headers = {}
        while (line := reader.readline().strip()) != b"":
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding") == "chunked":
            parts = []
            while size := int(reader.readline(), 16):
                parts.append(reader.read(size))
                reader.readline()
            reader.readline()
            body = b"".join(parts)
        else:
            body = reader.read(int(headers.get("content-length", 0)))
    except ConnectionError:
        return None
    return Answer(int(status.split()[1]), headers, body)


def ask(url: str, data: bytes) -> Answer | None:
    """Send these bytes on a connection of their own, and read one answer."""
    with connection(url) as opened:
        opened.sendall(data)
        return read_answer(opened)


def get(url: str, path: str, *headers: str, method: str = "GET") -> Answer:
    head = [f"{method} {path} HTTP/1.1", "host: test", "connection: close", *headers, "", ""]
    found = ask(url, "\r\n".join(head).encode("latin-1"))
    assert found is not None
    return found


def post(url: str, path: str, body: bytes, *headers: str) -> Answer:
    head = [f"POST {path} HTTP/1.1", "host: test", f"content-length: {len(body)}", *headers, "", ""]
    found = ask(url, "\r\n".join(head).encode("latin-1") + body)
    assert found is not None
    return found


def is_cut(opened: socket.socket) -> bool:
    """Wait until the server closes the connection, and pass over what comes before."""
    try:
        while opened.recv(65536):
            continue
    except ConnectionError:
        return True
    return True
