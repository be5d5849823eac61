"""The fast path: only envelopes and keys are decoded, lines pass to the lake as they came."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from singerlake.errors import InputError, RecordBeforeSchema
from singerlake.format import message
from singerlake.format.block import Summary
from singerlake.format.dealing import Dealer, Dealt, Line
from singerlake.plugin.measurement import RecordCounter
from target_singerlake.blocks import BLOCK, GATHERED
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

MANY = 8
"""Streams in a block, from where on it pays to wait for more lines of each."""


@dataclass
class _Run:
    """Lines of one stream, and what was decoded of them, where it was."""

    lines: list[bytes] = field(default_factory=list)
    decoded: list[Line] = field(default_factory=list)

    def parts(self) -> Iterator[_Run]:
        """In about as much as a block holds: a gzip member of the lake is no longer than that."""
        size = sum(map(len, self.lines))
        step = len(self.lines) if size <= BLOCK else max(len(self.lines) * BLOCK // size, 1)
        for begin in range(0, len(self.lines), step):
            part = slice(begin, begin + step)
            yield _Run(self.lines[part], self.decoded[part])


class RawIntake:
    """Deals the lines of a tap's output to their streams.

    In three ways, each for what the one before it does not take:
    1. `_take_plain`: a whole block of records of the stream that came last.
    2. `_deal`: a block of several streams, whose records are sorted.
    3. `_take_line`: one line of any kind, with all that can be wrong with it.

    `room` is how large it likes its next block. `counter` makes what counts a stream's records.
    """

    def __init__(
        self,
        landing: Landing,
        batch_parameters: dict[str, Any],
        pause: Callable[[], None],
        log: logging.Logger,
        counter: Callable[[str], Any] = RecordCounter,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._landing = landing
        self._batch_parameters = batch_parameters
        self._pause = pause
        self._unknown = UnknownTypes(log)
        self._new_counter = counter
        self._metrics: dict[str, Any] = {}
        self.lines_taken = 0
        self.room = BLOCK
        self._stream = ""
        self._streams: set[str] = set()
        self._dealer = Dealer()

    def take(self, block: bytes) -> None:
        """Take a block of whole lines. Raises `InputError`, which names the line."""
        # Most blocks hold records of one stream only: that of the record before. Many of the
        # others do but for a STATE, so these are tried again without it.
        self._streams.clear()
        if not self._take_plain(block):
            pieces = [block] if self.room > BLOCK else _around_states(block)
            for piece in pieces:
                if not self._take_plain(piece):
                    self._deal(piece)
                    self.lines_taken += piece.count(b"\n")
        self.room = GATHERED if len(self._streams) >= MANY else BLOCK

    def _take_plain(self, block: bytes) -> bool:
        before = self.counts["RECORD"]
        if _stream_of_last(block) != self._stream or not self._take_records(self._stream, block):
            return False
        self.lines_taken += self.counts["RECORD"] - before
        return True

    def close(self) -> None:
        """Let the metrics tell their last."""
        for counter in self._metrics.values():
            counter.__exit__(None, None, None)

    def _take_records(self, stream: str, block: bytes, summary: Summary | None = None) -> bool:
        try:
            taken = self._landing.writer.append_records(stream, block, summary)
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
            counter = self._metrics[stream] = self._new_counter(stream)
            counter.__enter__()
        counter.increment(records)

    def _deal(self, block: bytes) -> None:
        """Sort records by stream, keeping the order within each and around other messages."""
        lines = block.split(b"\n")
        try:
            self._deal_lines(block, lines)
        except _AtLine as failure:
            # Equal lines may stand before it, which were right under another schema.
            index = next(at for at, line in enumerate(lines) if line is failure.line)
            number = self.lines_taken + 1 + index
            raise at_line(number, failure.line, failure.error) from None

    def _deal_lines(self, block: bytes, all_lines: list[bytes]) -> None:
        lines = all_lines if all_lines[-1] else all_lines[:-1]
        if (dealt := self._dealer.decode(block, lines)) is not None:
            self._sort(lines, dealt)
            return
        lines = [line for line in all_lines if line.strip()]
        if (envelopes := _decoded(block, lines)) is not None:
            self._sort_by_envelope(lines, envelopes)
            return
        for line in lines:
            self._take_line(line)

    def _sort(self, lines: list[bytes], dealt: Dealt) -> None:
        runs: dict[str, _Run] = {}
        for line, decoded in zip(lines, dealt.lines, strict=True):
            stream = decoded.stream
            if decoded.type == "RECORD" and stream:
                run = runs.get(stream)
                if run is None:
                    run = runs[stream] = _Run()
                run.lines.append(line)
                run.decoded.append(decoded)
            else:
                self._take_runs(runs, dealt)
                self._take_line(line)
        self._take_runs(runs, dealt)

    def _sort_by_envelope(self, lines: list[bytes], envelopes: list[_Envelope]) -> None:
        """Where a line is not plain in more than its envelope: a stream's lines find that out."""
        runs: dict[str, _Run] = {}
        for line, envelope in zip(lines, envelopes, strict=True):
            if envelope.type == "RECORD" and envelope.stream:
                runs.setdefault(envelope.stream, _Run()).lines.append(line)
            else:
                self._take_runs(runs)
                self._take_line(line)
        self._take_runs(runs)

    def _take_runs(self, runs: dict[str, _Run], dealt: Dealt | None = None) -> None:
        """Plain runs first: what is wrong with one stream keeps no other's lines back."""
        uneven: list[bytes] = []
        for stream, run in runs.items():
            self._stream = stream
            parts = run.parts()
            for part in parts:
                summary = None if dealt is None else dealt.summary(stream, part.decoded)
                if not self._take_records(stream, b"\n".join(part.lines) + b"\n", summary):
                    # The rest with it: a stream's lines keep their order.
                    uneven += [line for each in (part, *parts) for line in each.lines]
        self._streams |= runs.keys()
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
                self._dealer.learn(envelope.stream, self._landing.writer.keys_of(envelope.stream))
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
        from target_singerlake import batch  # which takes half a second, and most taps send none

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


def _stream_of_last(block: bytes) -> str | None:
    """The stream of a block's last line: a quick look, ahead of a long one."""
    begin = block.rfind(b"\n", 0, -1) + 1
    try:
        return _envelopes.decode(memoryview(block)[begin:]).stream or None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _decoded(block: bytes, lines: list[bytes]) -> list[_Envelope] | None:
    """The lines' types and streams; None where one is not plain, and all go one by one.

    Counts alone do not tell: two objects on a line make up for one on two lines.
    """
    try:
        envelopes = _envelopes.decode_lines(block)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if len(envelopes) == len(lines) and all(
        line.startswith(b"{") and line.endswith(b"}") for line in lines
    ):
        return envelopes
    return None
