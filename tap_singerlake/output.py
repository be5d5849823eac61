"""The tap's standard output, in bytes: whole blocks pass without being decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from singerlake.errors import ConfigError
from singerlake.plugin.output import send


class Output:
    """Writes blocks of lines, and knows when no line is half written."""

    def __init__(self) -> None:
        super().__init__()
        self._writing = False
        self._waiting: Callable[[], None] | None = None

    def write_blocks(self, blocks: Iterable[bytes]) -> None:
        """Write blocks of whole lines. One that lacks its last line feed is given it.

        Raises `ConfigError` where there is nothing to write to.
        """
        for block in blocks:
            with self._uncut():
                _send(block if block.endswith(b"\n") else block + b"\n")

    def between_lines(self, action: Callable[[], None]) -> None:
        """Do this now or, where a signal came in the midst of a line, when that is written."""
        if self._writing:
            self._waiting = action
        else:
            action()

    @contextmanager
    def _uncut(self) -> Iterator[None]:
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
        if self._waiting is not None:
            action, self._waiting = self._waiting, None
            action()


def _send(lines: bytes) -> None:
    try:
        send(lines)
    except ValueError as error:
        raise ConfigError(f"{error}: pipe the tap's output into a target, or a file") from None
