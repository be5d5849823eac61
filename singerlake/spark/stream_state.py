"""The state of a stream that a job knows already, as text for Spark's processes.

Spark makes the source of each read in a process of its own, from options, which are texts. A job
that reads a stream twice, or has planned by its log, hands over what it knows: then the source
reads no manifest, merges no schemas, and sees the stream as the job does.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass

import msgspec

from singerlake.decode.version_union import MergedSchema
from singerlake.errors import ConfigError
from singerlake.lake.snapshot import Snapshot

OPTION = "singerlake.state"
"""The option that holds the text. It is no user's: Spark's plans do not show it."""


@dataclass(frozen=True)
class StreamState:
    """A stream at one moment, and the type that holds its records."""

    snapshot: Snapshot
    merged: MergedSchema

    def pack(self) -> str:
        """As text."""
        # Names may hold lone surrogates, which only Python's json writes.
        merged = json.dumps(msgspec.to_builtins(self.merged)).encode()
        parts = (self.snapshot.pack(), zlib.compress(merged, 1))
        return " ".join(base64.b64encode(part).decode() for part in parts)


def unpack(text: str) -> tuple[bytes, MergedSchema]:
    """The packed snapshot, and the type. Raises `ConfigError` for what no job has packed."""
    try:
        snapshot, merged = map(base64.b64decode, text.split(" "))
        return snapshot, msgspec.convert(json.loads(zlib.decompress(merged)), MergedSchema)
    except (ValueError, zlib.error, msgspec.MsgspecError, RecursionError) as error:
        raise ConfigError(
            f"the option {OPTION} is for Singerlake's own jobs: leave it out ({error})"
        ) from None
