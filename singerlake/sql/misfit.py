"""Values that do not fit the type of their column are null, and counted."""

from __future__ import annotations

from dataclasses import dataclass

MISFITS = "_misfits"
"""The metadata column that has them: what was sent, by column."""


@dataclass(frozen=True)
class Misfit:
    """How many values of a column did not fit its type and are null; `example` is one as sent."""

    tap_id: str
    stream: str
    column: str
    count: int
    example: str
