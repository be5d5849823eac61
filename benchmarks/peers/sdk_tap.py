"""The least that a singer-sdk tap can do: a stream that yields records which it has in memory.

Settings: `sample`, a file of Singer messages that begins with the SCHEMA, whose records are
yielded again and again; `records`, how many. `PEER_WRITER=msgspec` takes the SDK's contrib writer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any, ClassVar

from singer_sdk import Stream, Tap
from singer_sdk import typing as th
from singer_sdk.contrib.msgspec import MsgSpecWriter
from singer_sdk.io_base import SingerWriter

WITH_MSGSPEC = os.environ.get("PEER_WRITER") == "msgspec"


class SampleStream(Stream):
    """Yields copies, because the SDK takes out of a record what is not selected."""

    def __init__(self, tap: Tap, schema: dict[str, Any], sample: list[dict[str, Any]]) -> None:
        super().__init__(tap, schema=schema["schema"], name=schema["stream"])
        self.primary_keys = schema["key_properties"]
        self._sample = sample

    def get_records(self, context: Any) -> Iterator[dict[str, Any]]:
        yield from map(dict, islice(cycle(self._sample), self.config["records"]))


class TapPeer(Tap):
    """A tap of one stream."""

    name = "tap-peer"
    message_writer_class = MsgSpecWriter if WITH_MSGSPEC else SingerWriter
    config_jsonschema: ClassVar[dict[str, Any]] = th.PropertiesList(
        th.Property("sample", th.StringType, required=True),
        th.Property("records", th.IntegerType, required=True),
    ).to_dict()

    def discover_streams(self) -> list[Stream]:
        with Path(self.config["sample"]).open() as file:
            messages = [json.loads(line) for line in islice(file, 1000)]
        schema, *rest = messages
        sample = [message["record"] for message in rest if message["type"] == "RECORD"]
        return [SampleStream(self, schema, sample)]


if __name__ == "__main__":
    TapPeer.cli()
