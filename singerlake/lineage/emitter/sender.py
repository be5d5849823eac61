"""One event sent once: over HTTP, or to a file of JSON lines."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from singerlake.errors import NoAnswer
from singerlake.http.client import Client, ClientOptions
from singerlake.lineage.emitter.destination import Destination

PERMANENT = frozenset({400, 413, 422})
"""Answers to an event that will never be taken."""

Sender = Callable[[bytes], None]


class Refused(Exception):
    """The receiver will never take this event."""


def open_sender(destination: Destination) -> Sender:
    """Sends an event. It raises `NoAnswer` where it is worth another try, and `Refused`."""
    return _to_file(destination) if destination.file else _over_http(destination)


def _over_http(destination: Destination) -> Sender:
    seconds = destination.seconds
    options = ClientOptions(
        connect_seconds=seconds,
        read_seconds=seconds,
        total_seconds=2 * seconds,
        connections=1,
        ca=destination.ca,
    )
    client = Client(options)
    headers = {"Content-Type": "application/json", **destination.headers}
    if destination.api_key:
        headers["Authorization"] = f"Bearer {destination.api_key}"

    def send(event: bytes) -> None:
        answer = client.post(destination.url, event, headers)
        if answer.status in PERMANENT:
            raise Refused(f"{destination} answers {answer.status}")
        if not 200 <= answer.status < 300:
            raise NoAnswer(f"{destination} answers {answer.status}")

    return send


def _to_file(destination: Destination) -> Sender:
    path = Path(destination.file)

    def send(event: bytes) -> None:
        try:
            # One write each, at the end: several processes may share the file.
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, event + b"\n")
            finally:
                os.close(descriptor)
        except OSError as error:
            raise NoAnswer(f"{path} cannot be written: {error.strerror}") from None

    return send
