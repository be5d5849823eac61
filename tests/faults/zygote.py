"""Target processes in a hundredth of a second: forked from one that has imported everything.

Each is a real process that runs the command's own `main`, with pipes at both ends; only the
imports, which take longer than a small sync, are done once for all.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.target.driving import PATIENCE, TAP_ID, Running, environment

ANSWER = 4096


class Forked:
    """What tests need of a `subprocess.Popen`, for a process whose parent is the zygote."""

    def __init__(self, zygote: Zygote, pid: int, stdin: Any, stdout: Any) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
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
                raise subprocess.TimeoutExpired("target", timeout)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        # Until it was polled its number belongs to nobody else: the zygote has not reaped it.
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Zygote:
    """Starts targets, from any thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def ask(self, question: dict[str, Any], descriptors: list[int] | None = None) -> Any:
        with self._lock:
            data = json.dumps(question).encode()
            socket.send_fds(self._connection, [data], descriptors or [])
            return json.loads(self._connection.recv(ANSWER))

    @contextmanager
    def started(self, root: str | Path, patch: str = "", **config: Any) -> Iterator[Running]:
        """A target with an open pipe at each end, after `patch` has run in its process.

        Killed at the end if it still runs.
        """
        settings = {"lake_root": str(root), "tap_id": TAP_ID, **config}
        with tempfile.TemporaryDirectory(prefix="target-") as folder:
            path, log = Path(folder, "config.json"), Path(folder, "log")
            path.write_text(json.dumps(settings))
            (our_in, their_out), (their_in, our_out) = os.pipe(), os.pipe()
            with log.open("wb") as errors:
                theirs = [their_in, their_out, errors.fileno()]
                pid = self.ask({"config": str(path), "patch": patch}, theirs)
            os.close(their_in)
            os.close(their_out)
            with os.fdopen(our_out, "wb") as stdin, os.fdopen(our_in, "rb") as stdout:
                process = Forked(self, pid, stdin, stdout)
                try:
                    yield Running(process, log)  # type: ignore[arg-type]
                finally:
                    process.kill()
                    process.wait()
                    with contextlib.suppress(BrokenPipeError):
                        stdin.close()


@contextmanager
def zygote() -> Iterator[Zygote]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,  # as its children have it: Python asks once what it is
            stdout=subprocess.PIPE,
            env=environment(),
        )
        theirs.close()
        ours.settimeout(PATIENCE)
        with process:
            try:
                yield Zygote(ours)
            finally:
                ours.close()  # it reads the end, and ends


def serve(connection: socket.socket) -> None:
    """In the zygote: fork a target, or tell how one ended; until nobody asks any more."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not data:
            return
        question = json.loads(data)
        answer: int | None
        if "poll" in question:
            pid, status = os.waitpid(question["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            assert threading.active_count() == 1, threading.enumerate()
            answer = os.fork()
            if answer == 0:
                connection.close()
                become_target(question, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
        connection.send(json.dumps(answer).encode())


def become_target(question: dict[str, Any], descriptors: list[int]) -> None:
    from target_singerlake import target

    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv = ["target-singerlake", "--config", question["config"]]
    exec(question["patch"], {})
    target.main()
    os._exit(0)


if __name__ == "__main__":
    import s3fs  # noqa: F401

    import target_singerlake.target  # noqa: F401
    from singerlake.store import s3  # noqa: F401

    serve(socket.socket(fileno=int(sys.argv[1])))
