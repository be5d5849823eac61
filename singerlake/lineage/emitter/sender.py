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
    is_torn = False

    def send(event: bytes) -> None:
        nonlocal is_torn
        # A line that was cut off stays a line of its own.
        line = b"\n" + event + b"\n" if is_torn else event + b"\n"
        try:
            # One write each, at the end: several processes may share the file.
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                written = os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise NoAnswer(f"{path} cannot be written: {error.strerror}") from None
        if written < len(line):
            is_torn = is_torn or written > 0
            raise NoAnswer(f"{path} cannot be written: there is room for a part of an event")
        is_torn = False

    return send
