"""Commands that serve, as processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Running:
    """`line` is the one that it says when it is ready."""

    line: str
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return self.line.rpartition(" ")[2]

    def stop(self) -> tuple[int, str]:
        """The exit code and what is on stderr, after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@contextmanager
def running(*arguments: Any, environment: Mapping[str, str] | None = None) -> Iterator[Running]:
    """`singerlake ARGUMENTS`, once it is ready."""
    command = [sys.executable, "-m", "singerlake.cli", *map(str, arguments)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        if not line:
            raise AssertionError(process.communicate()[1])
        yield Running(line, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
