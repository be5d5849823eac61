"""One run's landing: lines go to the writer, STATE comes out once what it covers is committed."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import deque

from singerlake.errors import ConfigError
from singerlake.lake import Flush, Writer
from singerlake.plugin.output import send

PROGRESS_EVERY = 30.0
"""Seconds between two progress lines in the log."""


class Landing:
    """Wraps a writer with what a Singer target owes: STATE in order, and word of progress."""

    def __init__(self, writer: Writer, commit_interval: float, log: logging.Logger) -> None:
        self.writer = writer
        self._interval = commit_interval
        self._log = log
        self._state: bytes | None = None
        self._emitted: bytes | None = None
        self._flushes: deque[tuple[Flush, bytes | None]] = deque()
        self._flushed_at = self._told_at = self._started = time.monotonic()
        self._records = self._raw_bytes = self._files = self._file_bytes = 0
        self._streams: set[str] = set()
        self._closed = False

    def count(self, stream: str, records: int, raw_bytes: int) -> None:
        """Note what the writer was given, for the log."""
        self._streams.add(stream)
        self._records += records
        self._raw_bytes += raw_bytes

    def state(self, value: bytes) -> None:
        """Take a STATE message's value: it covers everything that came before it.

        An empty one says nothing, and would make Meltano forget the state it has.
        """
        if b"".join(value.split()) not in (b"{}", b"null"):
            self._state = value

    def tick(self) -> None:
        """Called often: passes on STATE that is due, commits by age, tells of progress."""
        self._pass_on(wait=False)
        now = time.monotonic()
        if now - self._flushed_at >= self._interval:
            self.flush()
        if now - self._told_at >= PROGRESS_EVERY:
            self._tell("Landing")

    def flush(self) -> None:
        """Commit everything in the background; its STATE follows when it is done."""
        self._flushes.append((self.writer.flush(), self._state))
        self._flushed_at = time.monotonic()

    def finish(self) -> None:
        """Commit everything, pass on the last STATE, and close."""
        if self._closed:
            return
        try:
            self.flush()
            self._pass_on(wait=True)
            self._tell("Landed")
        finally:
            self.close()

    def close(self) -> None:
        """Stop without committing what is left."""
        if not self._closed:
            self._closed = True
            self.writer.close()

    def _pass_on(self, wait: bool) -> None:
        """In the order of the commits: a later one that is quicker waits for its turn."""
        while self._flushes and (wait or self._flushes[0][0].done()):
            flush, state = self._flushes.popleft()
            files = flush.result()
            self._files += len(files)
            self._file_bytes += sum(file.bytes for file in files)
            if state is not None and state != self._emitted:
                self._emitted = state
                _emit(state, self._log)

    def _tell(self, what: str) -> None:
        self._told_at = time.monotonic()
        seconds = max(self._told_at - self._started, 0.001)
        self._log.info(
            "%s: %s records of %d streams (%.1f MB) in %.0f s; %d files committed (%.1f MB)",
            what,
            f"{self._records:,}",
            len(self._streams),
            self._raw_bytes / 1e6,
            seconds,
            self._files,
            self._file_bytes / 1e6,
        )


def _emit(state: bytes, log: logging.Logger) -> None:
    """Write a STATE to stdout. Where nobody reads it any more, the data is safe all the same.

    Raises `ConfigError` where somebody would, but it cannot be written.
    """
    try:
        send(state + b"\n")
    except (BrokenPipeError, ValueError) as error:
        log.warning("nobody reads the STATE any more (%s); the records are committed", error)
        _mute_stdout()
    except OSError as error:
        _mute_stdout()
        raise ConfigError(
            f"the STATE cannot be written to stdout ({error}); its records are committed. "
            "Make room where stdout goes, and run again"
        ) from error


def _mute_stdout() -> None:
    """Python flushes stdout once more at its end, and must not stumble over it."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
