"""A tap and a target as two processes with a pipe between them, and signals for both."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from singerlake.errors import ConfigError
from singerlake.lake.runs.surroundings import TAP_EXIT

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 10.0
"""Seconds that a tap has to end once nobody takes what it sends."""


class Pipeline:
    """Runs `tap | target`, and reports the tap's exit code to the target through a pipe.

    Both have sessions of their own: what a terminal sends to all of a job reaches this process
    only, which sends it on once. The target takes a second signal for an order to stop at once.
    """

    def __init__(
        self,
        tap: Sequence[str],
        target: Sequence[str],
        environment: Mapping[str, str],
        state: Path | None,
    ) -> None:
        self._commands = list(tap), list(target)
        self._environment = dict(environment)
        self._state = state
        self._lost_state: OSError | None = None
        self._signals: list[int] = []
        self._tap: subprocess.Popen[bytes] | None = None
        self._target: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Start both and wait for both; returns the exit code of the whole."""
        with self._signals_forwarded():
            read, write = os.pipe()
            try:
                tap, target = self._start(read)
            finally:
                os.close(read)
            keeper = threading.Thread(target=self._keep_states, args=(target,))
            keeper.start()
            watcher = threading.Thread(target=self._end_tap_with, args=(target,))
            watcher.start()
            code = tap.wait()
            with contextlib.suppress(BrokenPipeError), os.fdopen(write, "wb") as report:
                report.write(b"%d\n" % code)
            watcher.join()
            keeper.join()
        if self._lost_state is not None:
            raise ConfigError(
                f"the STATE cannot be written to {self._state} ({self._lost_state.strerror}); its "
                "records are committed. Make room there, or name another file, and run again"
            )
        return _as_shells_have_it(target.returncode) or _as_shells_have_it(code)

    def _start(self, read: int) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
        tap_command, target_command = self._commands
        try:
            self._tap = tap = subprocess.Popen(
                tap_command, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise ConfigError(
                f"{tap_command[0]!r} cannot be started: {error.strerror}; name the tap's command, "
                "with its folder where that is not in $PATH"
            ) from None
        self._target = target = subprocess.Popen(
            target_command,
            stdin=tap.stdout,
            stdout=None if self._state is None else subprocess.PIPE,
            env={**self._environment, TAP_EXIT: str(read)},
            pass_fds=(read,),
            start_new_session=True,
        )
        assert tap.stdout is not None
        tap.stdout.close()  # so that the tap notices where the target is gone
        for number in self._signals:
            self._forward(number)
        return tap, target

    def _end_tap_with(self, target: subprocess.Popen[bytes]) -> None:
        """A tap whose target is gone has nobody to send to."""
        target.wait()
        tap = self._tap
        assert tap is not None
        for number in (signal.SIGTERM, signal.SIGKILL):
            if tap.poll() is None:
                _send(tap, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    tap.wait(GRACE)

    def _keep_states(self, target: subprocess.Popen[bytes]) -> None:
        """Have the newest STATE in the file, whole at any moment."""
        if target.stdout is None or self._state is None:
            return
        with target.stdout as states:
            for line in _lines(states):
                try:
                    _replace(self._state, line)
                except OSError as error:
                    self._lost_state = error

    @contextlib.contextmanager
    def _signals_forwarded(self) -> Iterator[None]:
        def forward(number: int, frame: FrameType | None) -> None:
            self._signals.append(number)
            self._forward(number)

        before = {number: signal.signal(number, forward) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _forward(self, number: int) -> None:
        """The target first: it must not take the tap's end for the end of the input."""
        for process in (self._target, self._tap):
            if process is not None:
                _send(process, number)


def _replace(file: Path, content: bytes) -> None:
    temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(content)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _lines(states: IO[bytes]) -> Iterator[bytes]:
    return (line for line in states if line.strip())


def _send(process: subprocess.Popen[bytes], number: int) -> None:
    """To the process and its children, which are of its session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _as_shells_have_it(code: int) -> int:
    return 128 - code if code < 0 else code
