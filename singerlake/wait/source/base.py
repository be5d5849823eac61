"""The contract of a source: where awaited events come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from singerlake.errors import SingerlakeError
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import Awaited
from singerlake.wait.window import Span


@dataclass(frozen=True)
class Question:
    """Has this event arrived in this span?

    `is_last` at the deadline: then what a source saw some seconds ago is no answer.
    """

    event: Any
    span: Span
    is_last: bool = field(default=False, compare=False)


Answer = Arrival | SingerlakeError | None
"""What arrived, why nobody can know now, or None for not yet."""


class Source(Protocol):
    """Looks for events and takes none away: whoever asks again gets the same answer.

    A source is used by one thread at a time.
    """

    def anchored(self, event: Any) -> Awaited:
        """The event, with its place in the source now where it has neither a window nor a place:
        from there on something counts. Raises `SingerlakeError`."""

    def look(self, questions: Sequence[Question]) -> list[Answer]:
        """An answer to each question; many are asked together, so that one request serves all."""

    def close(self) -> None: ...
