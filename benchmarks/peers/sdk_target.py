"""The least that a singer-sdk target can do: a BatchSink that writes one jsonl.gz per stream.

Settings: `folder`, and `reader`, which is `simple` (the SDK's default) or `msgspec` (its contrib).
The compression level is 1, so that not zlib is what is compared.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any, ClassVar

from singer_sdk import BatchSink, Target
from singer_sdk import typing as th
from singer_sdk.contrib.msgspec import MsgSpecReader, serialize_jsonl
from singer_sdk.io_base import SingerReader
from singer_sdk.singerlib.json import serialize_json

WITH_MSGSPEC = os.environ.get("PEER_READER") == "msgspec"


class JsonlSink(BatchSink):
    """Adds each batch to the stream's file."""

    def process_batch(self, context: dict[str, Any]) -> None:
        path = Path(self.config["folder"], f"{self.stream_name}.jsonl.gz")
        with gzip.open(path, "ab", compresslevel=1) as file:
            if WITH_MSGSPEC:
                file.writelines(bytes(serialize_jsonl(record)) for record in context["records"])
            else:
                file.writelines(
                    serialize_json(record).encode() + b"\n" for record in context["records"]
                )


class TargetPeer(Target):
    """A target with one setting of its own."""

    name = "target-peer"
    message_reader_class = MsgSpecReader if WITH_MSGSPEC else SingerReader
    config_jsonschema: ClassVar[dict[str, Any]] = th.PropertiesList(
        th.Property("folder", th.StringType, required=True)
    ).to_dict()
    default_sink_class = JsonlSink


if __name__ == "__main__":
    TargetPeer.cli()
