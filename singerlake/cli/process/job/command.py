"""The command job: one process and one line of JSON for each event."""

from __future__ import annotations

import json
import subprocess
import threading
import time

from singerlake.errors import ConfigError, Later
from singerlake.processor import Event

DONE, LATER = 0, 75
"""75 is EX_TEMPFAIL of sysexits.h."""

LOOK_SECONDS = 0.2
PUT_BACK = 60.0

STOPPED_SECONDS = 0.5
"""systemd stops a service by a signal to each of its processes: a command may end by its own some
milliseconds before ours has come, and a job that is stopped has not failed."""


class CommandFailed(Exception):
    """The command ended with another exit code than 0 and 75."""


class CommandJob:
    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def process_event(self, event: Event) -> None:
        try:
            process = subprocess.Popen(self._command, stdin=subprocess.PIPE)
        except OSError as error:
            raise ConfigError(f"{self._command[0]}: {error.strerror}") from error
        with self._lock:
            self._running.add(process)
        try:
            code = self._wait(process, event)
        finally:
            with self._lock:
                self._running.discard(process)
        if code == LATER:
            raise Later(PUT_BACK)
        if code != DONE:
            time.sleep(STOPPED_SECONDS)
            raise CommandFailed(f"{self._command[0]} ended with {code}")

    def _wait(self, process: subprocess.Popen[bytes], event: Event) -> int:
        """The exit code. A command whose key has gone elsewhere is stopped."""
        data: bytes | None = line_of(event)
        while True:
            try:
                process.communicate(data, timeout=LOOK_SECONDS)
                return process.returncode
            except subprocess.TimeoutExpired:
                data = None
                if event.lost:
                    process.terminate()

    def close(self) -> None:
        """Stop what still runs."""
        with self._lock:
            for process in self._running:
                process.terminate()


def line_of(event: Event) -> bytes:
    """An event as one line of JSON."""
    value = event.value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    body = {
        "key": event.key,
        "value": value,
        "position": event.position,
        "token": event.token,
        "deliveries": event.deliveries,
        "id": event.id,
        "log_id": event.log_id,
        "sequence": event.sequence,
        "coalesced": event.coalesced,
    }
    return json.dumps(body).encode() + b"\n"
