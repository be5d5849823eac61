"""The slow path: the SDK maps, flattens, validates or adds to each record, which is then landed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from singer_sdk.singerlib.json import deserialize_json

from singerlake.errors import BadMessage, RecordBeforeSchema
from singerlake.format import message
from target_singerlake import batch
from target_singerlake.landing import Landing
from target_singerlake.messages import (
    BAD_INPUT,
    UnknownTypes,
    at_line,
    require_properties,
    state_value,
)

Callbacks = Mapping[str, Callable[[dict[str, Any]], None]]


class MappedIntake:
    """Hands each message to the SDK's own callbacks."""

    def __init__(
        self,
        landing: Landing,
        callbacks: Callbacks,
        batch_config: dict[str, Any] | None,
        log: logging.Logger,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._landing = landing
        self._callbacks = callbacks
        self._batch_config = batch_config
        self._unknown = UnknownTypes(log)
        self._streams: set[str] = set()
        self._lines_before = 0

    def take(self, block: bytes) -> None:
        """Take a block of whole lines. Raises `BAD_INPUT`, which names the line."""
        for number, line in enumerate(block.split(b"\n"), start=self._lines_before + 1):
            if line.strip():
                try:
                    self._take_line(line)
                except BAD_INPUT as error:
                    raise at_line(number, line, error) from error.__cause__
                self._landing.tick()
        self._lines_before += block.count(b"\n")

    def close(self) -> None:
        """The SDK's sinks look after their own metrics."""

    def _take_line(self, line: bytes) -> None:
        envelope = message.decode(line)
        kind = envelope.type
        self.counts[kind] += 1
        if kind == "STATE":
            self._landing.state(state_value(line))
        elif kind == "SCHEMA":
            require_properties(line)
            self._callbacks[kind](_parsed(line))
            self._streams.add(envelope.stream)
        elif kind not in ("RECORD", "ACTIVATE_VERSION", "BATCH"):
            self._unknown.pass_over(kind)
        elif envelope.stream not in self._streams:
            raise RecordBeforeSchema("the message came before the stream's SCHEMA message")
        elif kind == "BATCH":
            for record in batch.record_lines(line, self._batch_config):
                message.decode(record)
                self._callbacks["RECORD"](_parsed(record))
                self._landing.tick()
        else:
            self._callbacks[kind](_parsed(line))


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        return deserialize_json(line)
    except (ValueError, RecursionError) as error:
        # Its message may quote the line's data.
        raise BadMessage(f"JSON that Python cannot read ({type(error).__name__})") from None
