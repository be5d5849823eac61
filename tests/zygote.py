"""Plugin processes in a hundredth of a second: forked from one that has imported everything.

Each is a real process that runs the command's own `main`, with descriptors of its own; only the
imports, which take longer than a small sync, are done once for all.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

PATIENCE = 120.0
"""Seconds to wait for something that has to come: machines that run tests are busy."""

PORTION = 1 << 16
PLUGINS = (
    "target_singerlake.command",
    "target_singerlake.target",
    "tap_singerlake.command",
    "tap_singerlake.tap",
)


class Forked:
    """What tests need of a `subprocess.Popen`, for a process whose parent is the zygote."""

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._zygote = zygote

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._zygote.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float = PATIENCE) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked plugin", timeout)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        # Until it was polled its number belongs to nobody else: the zygote has not reaped it.
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Zygote:
    """Starts plugins, from any thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def ask(self, question: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        with self._lock:
            try:
                data = json.dumps(question).encode() + b"\n"
                sent = socket.send_fds(self._connection, [data], descriptors)
                self._connection.sendall(data[sent:])
                return json.loads(_whole_line(b"", self._connection))
            except BaseException:
                # The next question must not get this one's answer.
                self._connection.close()
                _made.cache_clear()
                raise

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        streams: tuple[IO[Any], IO[Any], IO[Any]],
        patch: str = "",
    ) -> Forked:
        """Run `module.main()`, after `patch`; its standard streams are copies of those."""
        question = {
            "module": module,
            "arguments": [*arguments],
            "environment": {**environment},
            "folder": str(Path.cwd()),
            "patch": patch,
        }
        return Forked(self, self.ask(question, [stream.fileno() for stream in streams]))


def _whole_line(data: bytes, connection: socket.socket) -> bytes:
    """What was read of a line, and the rest of it; empty at the end of all lines."""
    while not data.endswith(b"\n"):
        more = connection.recv(PORTION)
        if not more:
            break
        data += more
    return data


_making = threading.Lock()


def shared() -> Zygote:
    """The one of this process, which ends with it."""
    with _making:
        return _made()


@functools.cache
def _made() -> Zygote:
    ours, theirs = socket.socketpair()
    with theirs, ExitStack() as stack:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,  # as its children have it: Python asks once what it is
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
        )
        stack.enter_context(process)
        stack.enter_context(ours)  # closed first: it reads the end, and ends
        ours.settimeout(PATIENCE)
        atexit.register(stack.pop_all().close)
        return Zygote(ours)


def serve(connection: socket.socket) -> None:
    """In the zygote: fork a plugin, or tell how one ended; until nobody asks any more."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, PORTION, 3)
        if not data:
            return
        question = json.loads(_whole_line(data, connection))
        answer: int | None
        if "poll" in question:
            pid, status = os.waitpid(question["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            assert threading.active_count() == 1, threading.enumerate()
            answer = os.fork()
            if answer == 0:
                connection.close()
                become(question, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
        connection.sendall(json.dumps(answer).encode() + b"\n")


def become(question: dict[str, Any], descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(question["environment"])
    os.chdir(question["folder"])
    sys.argv = [question["module"], *question["arguments"]]
    exec(question["patch"], {})
    importlib.import_module(question["module"]).main()
    os._exit(0)


if __name__ == "__main__":
    for _name in (*PLUGINS, "s3fs", "singerlake.store.s3"):
        importlib.import_module(_name)
    serve(socket.socket(fileno=int(sys.argv[1])))
