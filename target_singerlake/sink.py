"""The SDK's end of the slow path: what it made of a record becomes a line again."""

from __future__ import annotations

import reprlib
from typing import Any

from singer_sdk.exceptions import InvalidRecord
from singer_sdk.sinks import RecordSink

from target_singerlake.landing import Landing
from target_singerlake.messages import serialized


class LakeSink(RecordSink):
    """Gives each record to the writer as soon as the SDK is done with it."""

    def __init__(self, target: Any, *args: Any, **kwargs: Any) -> None:
        self._target = target
        super().__init__(target, *args, **kwargs)

    @property
    def _landing(self) -> Landing:
        landing: Landing = self._target.landing
        return landing

    def setup(self) -> None:
        """Begin the stream, or its new schema, with the SCHEMA line as the SDK changed it."""
        envelope = {
            "type": "SCHEMA",
            "stream": self.stream_name,
            "schema": self.schema,
            "key_properties": list(self.key_properties),
        }
        self._landing.writer.schema(self.stream_name, serialized(envelope))

    def process_record(self, record: dict[str, Any], context: dict[str, Any]) -> None:
        """Land the record, with the time and version of the message it came in."""
        envelope = {"type": "RECORD", "stream": self.stream_name, "record": record}
        for name in ("version", "time_extracted"):
            value = self._target.current_message.get(name)
            if value is not None:
                envelope[name] = value
        line = serialized(envelope)
        self._landing.writer.write(line)
        self._landing.count(self.stream_name, 1, len(line) + 1)

    def activate_version(self, new_version: int) -> None:
        """Keep the message: readers apply it."""
        envelope = {
            "type": "ACTIVATE_VERSION",
            "stream": self.stream_name,
            "version": new_version,
        }
        line = serialized(envelope)
        self._landing.writer.write(line)
        self._landing.count(self.stream_name, 0, len(line) + 1)

    def _validate_and_parse(self, record: dict[str, Any]) -> dict[str, Any]:
        """Validate as the SDK does, where that is set; the error tells no value of the record.

        Times stay as the tap wrote them: they are not for a database column here.
        """
        if self._validator is not None:
            try:
                self._validator.validate(record)
            except InvalidRecord as error:
                raise InvalidRecord(_broken_rule(error), record) from None
        return record

    def _singer_validate_message(self, record: dict[str, Any]) -> None:
        """Require the key properties, unless a setting says that the lake keeps what came."""
        if self._target.config["require_keys"]:
            super()._singer_validate_message(record)

    def _remove_sdc_metadata_from_record(self, record: dict[str, Any]) -> None:
        """Keep what the tap sent: `_sdc_deleted_at` tells of deleted rows."""

    def _remove_sdc_metadata_from_schema(self) -> None:
        """As for records."""


def _broken_rule(error: InvalidRecord) -> str:
    """Where in the record, and which rule of the schema: both are known without the data."""
    cause: Any = error.__cause__
    rule = f"{cause.validator}: {reprlib.repr(cause.validator_value)}"
    return f"the record breaks the rule `{rule}` of its schema at {cause.json_path}"
