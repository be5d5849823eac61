"""What a transport is, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Answer(NamedTuple):
    """`delivered`: so many of the events, from the first. All of them where nothing else is said.

    `refused`: the next will never be taken as it is. Otherwise a `reason` means: send the rest
    again, after as many seconds as `after` says, where the receiver said so.
    """

    delivered: int
    reason: str = ""
    refused: bool = False
    status: int | None = None
    after: float | None = None


class Transport(Protocol):
    """For one thread at a time, but for transports whose `lanes` is more than one."""

    name: str
    """What checkpoints, metrics and messages call it: no secrets."""

    batch: int
    """How many events one `send` takes at most."""

    lanes: int
    """How many threads may send at the same time."""

    def send(self, events: Sequence[bytes]) -> Answer:
        """Returns when the receiver has them, or will not take them now."""
        ...

    def close(self) -> None: ...
