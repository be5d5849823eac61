"""An event, as a job gets it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import msgspec

from singerlake.errors import BadEvent, Fenced

RAW, JSON = b"b", b"j"
"""What an encoded value begins with."""


def encode_value(value: object) -> bytes:
    """Bytes as they are, and anything else as JSON. Raises `BadEvent`."""
    if isinstance(value, bytes | bytearray | memoryview):
        return RAW + bytes(value)
    try:
        return JSON + msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError):
        pass
    try:  # lone surrogates
        return JSON + json.dumps(value, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise BadEvent(f"expected a value that is bytes or JSON, found {error}") from None


def decode_value(data: bytes) -> Any:
    """The inverse of `encode_value`; None for nothing."""
    if not data:
        return None
    return data[1:] if data[:1] == RAW else json.loads(data[1:])


class Lease:
    """The hold of a slot on a key. `lost` becomes true as soon as somebody notices."""

    def __init__(self, key: str, token: int) -> None:
        self.key, self.token, self.lost = key, token, False


@dataclass
class Event:
    """One event of a key.

    `position` grows within the key, and `token` with every processor that gets the key: a sink
    that keeps both can refuse what is old (`once` does). `deliveries` counts how often the event
    was handed out. `coalesced` is how many older events it stands for. `log_id` and `sequence`
    say where an event of a lake stands in its stream's log; "" and 0 for others. `logs` has, where
    the log goes on from older ones, the last number of each that means the same in all of them.
    """

    key: str
    value: Any
    position: int
    token: int
    deliveries: int = 1
    id: str = ""
    log_id: str = ""
    sequence: int = 0
    logs: Mapping[str, int] = field(default_factory=dict)
    coalesced: int = 0
    state: Any = None
    """The value that was kept for the key; what `keep` was given, after it."""

    progressed: Any = None
    """What `progress` was given in an earlier delivery of this event."""

    lease: Lease = field(default_factory=lambda: Lease("", 0), repr=False)
    _progress: Callable[[bytes], bool] | None = field(default=None, repr=False)
    kept: bytes | None = field(default=None, repr=False)

    @property
    def added(self) -> datetime:
        """When the event was added, on the engine's clock."""
        return datetime.fromtimestamp(self.position / 1e6, timezone.utc)

    @property
    def lost(self) -> bool:
        """Whether another processor may have the key by now: stop, nothing you do counts."""
        return self.lease.lost

    def keep(self, value: object) -> None:
        """Keep a small value for the key: it is written with the acknowledgement."""
        self.state, self.kept = value, encode_value(value)

    def progress(self, value: object) -> None:
        """Keep how far this event has come, now; a retry finds it in `progressed`.

        Raises `Fenced` where another processor has the key.
        """
        if self._progress is not None and not self._progress(encode_value(value)):
            self.lease.lost = True
            raise Fenced(
                f"key {self.key!r}: the lease was lost while event {self.position} was processed; "
                "another processor has the key, and nothing of this one counts"
            )
        self.progressed = value
