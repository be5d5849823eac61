"""The SDK's messages, on the tap's own output."""

from __future__ import annotations

from singer_sdk.io_base import SingerWriter
from singer_sdk.singerlib import Message

from singerlake.plugin.exact_json import exact_json
from tap_singerlake.output import Output


class WholeLines(Output, SingerWriter):
    """Writes messages, and blocks of lines between them."""

    def serialize_message(self, message: Message) -> str:
        return exact_json(message.to_dict())

    def write_message(self, message: Message) -> None:
        self.write_blocks([self.format_message(message).encode()])
