"""What a log continues: the log that it was begun anew from, and how far their numbers agree.

An older Singerlake drops this when it commits. Bookmarks of the older log are then refused, as they
were before there was such a field: whoever has one begins again, and misses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from singerlake.format.document import Count


class Continued(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the log `log_id` up to `up_to` mean what they meant there."""

    log_id: str
    up_to: Count


def cut(continues: Sequence[Continued], up_to: int) -> tuple[Continued, ...]:
    """What is left of these where only the numbers up to one still mean what they meant."""
    left = (Continued(log_id=one.log_id, up_to=min(one.up_to, up_to)) for one in continues)
    return tuple(one for one in left if one.up_to)


def origin(continues: Sequence[Continued], sequence: int) -> str:
    """The log that gave a number out: the oldest that has it; "" where none of these has it."""
    return next((one.log_id for one in reversed(continues) if sequence <= one.up_to), "")
