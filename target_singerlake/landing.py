"""One run's landing: lines go to the writer, STATE comes out once what it covers is committed."""

from __future__ import annotations

import logging
import time

from singerlake.errors import ConfigError
from singerlake.format import blob, message
from singerlake.lake import Writer
from singerlake.plugin.output import mute, send
from target_singerlake.held_states import HeldStates
from target_singerlake.lineage import OnEnd
from target_singerlake.verdict import Verdict, bookmarks

PROGRESS_EVERY = 30.0
"""Seconds between two progress lines in the log."""


class Landing:
    """Wraps a writer with what a Singer target owes: STATE in order, and reports of progress."""

    def __init__(
        self,
        writer: Writer,
        commit_interval: float,
        log: logging.Logger,
        on_end: OnEnd | None = None,
    ) -> None:
        self.writer = writer
        self._on_end = on_end
        self.last_state: bytes | None = None
        """The value of the STATE message that came last, an empty one too."""
        self.covered = True
        """Whether no stored message came after the last STATE, or none at all."""
        self._interval = commit_interval
        self._log = log
        self._held = HeldStates()
        self._emitted: bytes | None = None
        self._settled = -1
        self._flushed_at = self._told_at = self._started = time.monotonic()
        self._records = self._raw_bytes = 0
        self._streams: set[str] = set()
        self._ignored: set[str] = set()
        self._closed = self._ended = False

    def schema(self, line: bytes) -> None:
        """Look at a SCHEMA line: no STATE covers it, and it may have marks that nobody heeds."""
        self.covered = False
        if self.writer.options.stage is None and blob.MARK.encode() in line:
            schema, stream = message.decode_schema(line), message.decode(line).stream
            if blob.marked(schema) and stream not in self._ignored:
                self._ignored.add(stream)
                self._log.warning(
                    "Stream '%s' names files in %s, and the setting staged_files is not there to "
                    "say where files may lie: they are not stored",
                    stream,
                    ", ".join(blob.marked(schema)),
                )

    def count(self, stream: str, records: int, raw_bytes: int) -> None:
        """Note what the writer was given: for the log, and to know what no STATE covers yet."""
        self._streams.add(stream)
        self._records += records
        self._raw_bytes += raw_bytes
        self.covered = False

    def state(self, value: bytes) -> None:
        """Take a STATE message's value: it covers everything that came before it.

        An empty STATE says nothing, and would make Meltano forget the state it has.
        """
        self.last_state, self.covered = value, True
        if b"".join(value.split()) not in (b"{}", b"null"):
            self._held.add(self.writer.pending.newest, value)
            self._settled = -1  # this state may be due already

    def tick(self) -> None:
        """Called often: passes on STATE that is due, commits by age, reports progress."""
        self._pass_on()
        self.writer.pending.require_success()
        now = time.monotonic()
        if now - self._flushed_at >= self._interval:
            self.writer.flush()
            self._flushed_at = now
        if now - self._told_at >= PROGRESS_EVERY:
            self._tell("Landing")

    def finish(self) -> None:
        """Commit everything, pass on the last STATE, and close."""
        if self._closed:
            return
        try:
            try:
                self.writer.commit()
            finally:
                self._pass_on()
            self._tell("Landed")
        finally:
            self.close()

    def close(self) -> None:
        """Stop without committing what is left."""
        if not self._closed:
            self._closed = True
            self.writer.close()

    def end(self, verdict: Verdict, exit_code: int | None = None) -> None:
        """Write the run's document, once; what is not committed by now is left behind."""
        self.close()
        if not self._ended:
            self._ended = True
            held = bookmarks(self.last_state, self.writer.streams)
            outcome, reason = verdict.outcome, verdict.reason
            try:
                self.writer.end(outcome, reason=reason, exit_code=exit_code, bookmarks=held)
            finally:
                if self._on_end is not None:
                    self._on_end(outcome, reason)
            why = f" ({reason})" if reason else ""
            self._log.info("Run %s: %s%s", self.writer.run_id, outcome, why)

    def _pass_on(self) -> None:
        """The newest STATE whose records are all committed, whatever closed their files."""
        settled = self.writer.pending.settle()
        if settled == self._settled:
            return
        self._settled = settled
        state = self._held.due(self.writer.pending.numbers)
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
            self.writer.pending.files,
            self.writer.pending.bytes / 1e6,
        )


def _emit(state: bytes, log: logging.Logger) -> None:
    """Write a STATE to stdout. Where nobody reads it any more, the data is safe all the same.

    Raises `ConfigError` where somebody would, but it cannot be written.
    """
    try:
        send(state + b"\n")
    except (BrokenPipeError, ValueError) as error:
        log.warning("nobody reads the STATE any more (%s); the records are committed", error)
        mute()
    except OSError as error:
        mute()
        raise ConfigError(
            f"the STATE cannot be written to stdout ({error}); its records are committed. "
            "Make room where stdout goes, and run again"
        ) from error
