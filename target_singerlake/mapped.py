"""The slow path: the SDK maps, flattens, validates or adds to each record, which is then landed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from singer_sdk.mapper import PluginMapper, RemoveRecordTransform

from singerlake.errors import BadMessage, RecordBeforeSchema, SingerlakeError
from singerlake.format import message
from target_singerlake import batch
from target_singerlake.blocks import BLOCK
from target_singerlake.landing import Landing
from target_singerlake.messages import (
    UnknownTypes,
    at_line,
    parsed,
    require_properties,
    require_version,
    state_value,
)
from target_singerlake.sdk_errors import BAD_INPUT

_FOR_THE_LAKE = ("SCHEMA", "RECORD", "ACTIVATE_VERSION", "BATCH")

Callbacks = Mapping[str, Callable[[dict[str, Any]], None]]


class MappedIntake:
    """Hands each message to the SDK's own callbacks."""

    def __init__(
        self,
        landing: Landing,
        callbacks: Callbacks,
        batch_parameters: dict[str, Any],
        pause: Callable[[], None],
        log: logging.Logger,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._landing = landing
        self._callbacks = callbacks
        self._batch_parameters = batch_parameters
        self._pause = pause
        self._unknown = UnknownTypes(log)
        self._streams: set[str] = set()
        self.lines_taken = 0
        self.room = BLOCK

    def take(self, block: bytes) -> None:
        """Take a block of whole lines. Raises `BAD_INPUT`, which names the line."""
        for number, line in enumerate(block.split(b"\n"), start=self.lines_taken + 1):
            if line.strip():
                try:
                    self._take_line(line)
                except BAD_INPUT as error:
                    raise at_line(number, line, error) from error.__cause__
        self.lines_taken += block.count(b"\n")

    def close(self) -> None:
        """The SDK's sinks look after their own metrics."""

    def _take_line(self, line: bytes) -> None:
        envelope = message.decode_sent(line)
        kind = envelope.type
        self.counts[kind] += 1
        if kind == "STATE":
            self._landing.state(state_value(line))
            return
        # Also what a map will remove: the tap has sent it, and no STATE covers it.
        self._landing.covered = self._landing.covered and kind not in _FOR_THE_LAKE
        if kind == "SCHEMA":
            require_properties(line)
            self._hand_over(kind, line)
            self._landing.schema(line)
            self._streams.add(envelope.stream)
        elif kind not in _FOR_THE_LAKE:
            self._unknown.pass_over(kind)
        elif envelope.stream not in self._streams:
            raise RecordBeforeSchema("the message came before the stream's SCHEMA message")
        elif kind == "BATCH":
            for record in batch.record_lines(line, self._batch_parameters, self._pause):
                message.decode_sent(record)
                self._hand_over("RECORD", record)
        else:
            if kind == "ACTIVATE_VERSION":
                require_version(line)
            self._hand_over(kind, line)

    def _hand_over(self, kind: str, line: bytes) -> None:
        content = parsed(line)
        try:
            self._callbacks[kind](content)
        except (SingerlakeError, *BAD_INPUT, OSError, MemoryError):
            # The last two are the writer's, not the message's.
            raise
        except Exception as error:
            # As where a map divides by a record's zero. Its message may quote the record.
            raise BadMessage(
                f"the SDK fails on the {kind} message ({type(error).__name__}): the settings that "
                "change records, such as stream_maps, do not suit it"
            ) from error


class KeptMaps(PluginMapper):
    """The SDK's maps, without those that remove a stream: nothing of it lands, not its schema."""

    def register_raw_stream_schema(self, stream_name: str, *args: Any, **kwargs: Any) -> None:
        super().register_raw_stream_schema(stream_name, *args, **kwargs)
        self.stream_maps[stream_name] = [
            each
            for each in self.stream_maps[stream_name]
            if not isinstance(each, RemoveRecordTransform)
        ]
