"""What becomes of events that break the spec: a log, a file, both, or what a user wrote."""

from __future__ import annotations

import errno
import importlib
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from singerlake.errors import ConfigError
from singerlake.lineage.schema.problem import Problem, as_json
from singerlake.runtime import REAL, Runtime

logger = logging.getLogger("singerlake.lineage.failed")

NAME = "invalid.jsonl"
FILE_BYTES = 10_000_000
FILES = 5
LINES = 20
"""Of the log, in a second."""


class FailedEventHandler(Protocol):
    """Called on the event loop: it must not block for long. What it raises is logged."""

    def handle(self, event: bytes, problems: Sequence[Problem]) -> None: ...

    def close(self) -> None: ...


class LogHandler:
    """The reasons, never the event itself: it may hold secrets. A flood is logged in part, and
    counted: a sender must not fill the disk."""

    def __init__(self, runtime: Runtime = REAL) -> None:
        self._runtime = runtime
        self._second, self._lines = 0, 0

    def handle(self, event: bytes, problems: Sequence[Problem]) -> None:
        second = int(self._runtime.monotonic())
        if second != self._second:
            if self._lines > LINES:
                logger.warning("%d more events broke the spec", self._lines - LINES)
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines <= LINES:
            reasons = "; ".join(map(str, problems))
            logger.warning("an event of %d bytes breaks the spec: %s", len(event), reasons[:2000])

    def close(self) -> None:
        """Nothing is open."""


class FileHandler:
    """Event and reasons on one line of JSON. A full file becomes `….1`, that `….2`, and so on."""

    def __init__(
        self,
        path: Path,
        file_bytes: int = FILE_BYTES,
        files: int = FILES,
        runtime: Runtime = REAL,
    ) -> None:
        self._path, self._most, self._files, self._runtime = path, file_bytes, files, runtime
        self._descriptor: int | None = self._opened()

    def handle(self, event: bytes, problems: Sequence[Problem]) -> None:
        row = {
            "received": self._runtime.now().isoformat(),
            "problems": as_json(problems),
            "event": event.decode("utf-8", "backslashreplace"),
        }
        line = json.dumps(row).encode() + b"\n"
        descriptor, size = self._with_room(len(line))
        if os.write(descriptor, line) < len(line):
            os.ftruncate(descriptor, size)  # on a full disk: no half of a row
            raise OSError(errno.ENOSPC, f"{self._path}: no room for an event of {len(event)} bytes")

    def _with_room(self, needed: int) -> tuple[int, int]:
        """The file that takes so many bytes, and its size."""
        if self._descriptor is None:
            self._descriptor = self._opened()
        size = os.fstat(self._descriptor).st_size
        if not size or size + needed <= self._most:
            return self._descriptor, size
        self._rotate()
        self._descriptor = self._opened()
        return self._descriptor, os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        self.close()
        for number in range(self._files - 1, 0, -1):
            older = self._numbered(number - 1)
            if older.exists():
                older.replace(self._numbered(number))
        if self._files == 1:
            self._path.unlink(missing_ok=True)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.open(self._path, flags, 0o600)  # events may hold secrets

    def close(self) -> None:
        if self._descriptor is not None:
            # Its number may be another file's from now on, also where what comes next fails.
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


class Several:
    def __init__(self, handlers: Sequence[FailedEventHandler]) -> None:
        self._handlers = handlers

    def handle(self, event: bytes, problems: Sequence[Problem]) -> None:
        for one in self._handlers:
            one.handle(event, problems)

    def close(self) -> None:
        for one in self._handlers:
            one.close()


def open_handler(name: str, folder: Path) -> FailedEventHandler:
    """`log`, `file`, `both`, or `package.module:name` of what makes one. Raises `ConfigError`."""
    match name:
        case "log":
            return LogHandler()
        case "file":
            return FileHandler(folder / NAME)
        case "both":
            return Several([LogHandler(), FileHandler(folder / NAME)])
    return _imported(name)


def _imported(name: str) -> FailedEventHandler:
    module, colon, attribute = name.partition(":")
    try:
        if not colon:
            raise ValueError("no such handler")
        made: Any = getattr(importlib.import_module(module), attribute)()
    except Exception as error:
        raise ConfigError(
            f"the handler of failed events is log, file, both or package.module:name, found "
            f"{name!r}: {type(error).__name__}: {error}"
        ) from error
    if not callable(getattr(made, "handle", None)) or not callable(getattr(made, "close", None)):
        raise ConfigError(f"{name}: expected an object with the methods handle and close")
    handler: FailedEventHandler = made
    return handler
