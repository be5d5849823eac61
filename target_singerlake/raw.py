"""The fast path: only envelopes are decoded, lines pass to the lake as they came."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

import msgspec
from singer_sdk import metrics

from singerlake.errors import InputError, RecordBeforeSchema
from singerlake.format import message
from target_singerlake import batch
from target_singerlake.landing import Landing
from target_singerlake.messages import (
    UnknownTypes,
    at_line,
    require_properties,
    require_version,
    state_value,
)


class _Envelope(msgspec.Struct, gc=False):
    type: str
    stream: str | None = None


_envelopes = msgspec.json.Decoder(_Envelope)
_first_byte, _last_byte = itemgetter(0), itemgetter(-1)


class RawIntake:
    """Deals the lines of a tap's output to their streams.

    In three ways, each for what the one before it does not take:
    1. `_take_plain`: a whole block of records of the stream that came last.
    2. `_deal`: a block of several streams, whose records are sorted by their envelopes.
    3. `_take_line`: one line of any kind, with all that can be wrong with it.
    """

    def __init__(
        self,
        landing: Landing,
        batch_parameters: dict[str, Any],
        pause: Callable[[], None],
        log: logging.Logger,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._landing = landing
        self._batch_parameters = batch_parameters
        self._pause = pause
        self._unknown = UnknownTypes(log)
        self._metrics: dict[str, metrics.Counter] = {}
        self.lines_taken = 0
        self._stream = ""

    def take(self, block: bytes) -> None:
        """Take a block of whole lines. Raises `InputError`, which names the line."""
        # Most blocks hold records of one stream only: that of the record before. Many of the
        # others do but for a STATE, so these are tried again without it.
        if self._take_plain(block):
            return
        for piece in _around_states(block):
            if not self._take_plain(piece):
                self._deal(piece)
                self.lines_taken += piece.count(b"\n")

    def _take_plain(self, block: bytes) -> bool:
        before = self.counts["RECORD"]
        if not self._stream or not self._take_records(self._stream, block):
            return False
        self.lines_taken += self.counts["RECORD"] - before
        return True

    def close(self) -> None:
        """Let the metrics tell their last."""
        for counter in self._metrics.values():
            counter.__exit__(None, None, None)

    def _take_records(self, stream: str, block: bytes) -> bool:
        try:
            taken = self._landing.writer.append_records(stream, block)
        except RecordBeforeSchema:
            return False
        if taken is None:
            return False
        self.counts["RECORD"] += taken
        self._count(stream, taken, len(block))
        return True

    def _count(self, stream: str, records: int, size: int) -> None:
        self._landing.count(stream, records, size)
        counter = self._metrics.get(stream)
        if counter is None:
            counter = self._metrics[stream] = metrics.record_counter(stream)
            counter.__enter__()
        counter.increment(records)

    def _deal(self, block: bytes) -> None:
        """Sort records by stream, keeping the order within each and around other messages."""
        all_lines = block.split(b"\n")
        lines = [line for line in all_lines if line.strip()]
        runs: dict[str, list[bytes]] = {}
        try:
            envelopes = _decoded(block, lines)
            if envelopes is None:
                for line in lines:
                    self._take_line(line)
                return
            for line, envelope in zip(lines, envelopes, strict=True):
                if envelope.type == "RECORD" and envelope.stream:
                    runs.setdefault(envelope.stream, []).append(line)
                else:
                    self._take_runs(runs)
                    self._take_line(line)
            self._take_runs(runs)
        except _AtLine as failure:
            # Equal lines may stand before it, which were right under another schema.
            index = next(at for at, line in enumerate(all_lines) if line is failure.line)
            number = self.lines_taken + 1 + index
            raise at_line(number, failure.line, failure.error) from None

    def _take_runs(self, runs: dict[str, list[bytes]]) -> None:
        """Plain runs first: what is wrong with one stream keeps no other's lines back."""
        uneven = []
        for stream, lines in runs.items():
            self._stream = stream
            if not self._take_records(stream, b"\n".join(lines) + b"\n"):
                uneven += lines
        runs.clear()
        for line in uneven:
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        """One line of any kind, thoroughly."""
        try:
            envelope = message.decode_sent(line)
            self.counts[envelope.type] += 1
            if envelope.type == "SCHEMA":
                require_properties(line)
                self._landing.writer.write(line)
                self._landing.schema(line)
            elif envelope.type == "ACTIVATE_VERSION":
                require_version(line)
                self._landing.writer.write(line)
                self._landing.count(envelope.stream, 0, len(line) + 1)
            elif envelope.type == "RECORD":
                self._landing.writer.write(line)
                self._count(envelope.stream, 1, len(line) + 1)
            elif envelope.type == "STATE":
                self._landing.state(state_value(line))
            elif envelope.type == "BATCH":
                self._take_batch(line)
            else:
                self._unknown.pass_over(envelope.type)
        except InputError as error:
            raise _AtLine(line, error) from error

    def _take_batch(self, line: bytes) -> None:
        self._landing.covered = False
        for record in batch.record_lines(line, self._batch_parameters, self._pause):
            envelope = self._landing.writer.write(record)
            if envelope is not None:
                self._count(envelope.stream, 1, len(record))


class _AtLine(Exception):
    """An error, and the line that caused it."""

    def __init__(self, line: bytes, error: InputError) -> None:
        super().__init__(str(error))
        self.line, self.error = line, error


def _around_states(block: bytes) -> Iterator[bytes]:
    """The block cut before and after each line that looks like a STATE.

    Looks are enough: wherever it is cut, every piece is whole lines, taken with the same care.
    """
    begin = 0
    while (at := block.find(b'"STATE"', begin)) >= 0:
        start = block.rfind(b"\n", begin, at) + 1 or begin
        end = block.find(b"\n", at) + 1 or len(block)
        if start > begin:
            yield block[begin:start]
        yield block[start:end]
        begin = end
    if begin < len(block):
        yield block[begin:]


def _decoded(block: bytes, lines: list[bytes]) -> list[_Envelope] | None:
    """The lines' types and streams; None where one is not plain, and all go one by one.

    Counts alone do not tell: two objects on a line make up for one on two lines.
    """
    try:
        envelopes = _envelopes.decode_lines(block)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if (
        len(envelopes) == len(lines)
        and set(map(_first_byte, lines)) == {ord("{")}
        and set(map(_last_byte, lines)) == {ord("}")}
    ):
        return envelopes
    return None
