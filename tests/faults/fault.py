"""What can go wrong with one request to the store."""

from __future__ import annotations

import enum

from singerlake.errors import AlreadyExists, Changed, SingerlakeError

REFUSALS: dict[str, type[SingerlakeError]] = {
    "create": AlreadyExists,
    "create_from": AlreadyExists,
    "replace": Changed,
    "delete_if": Changed,
}
"""What a conditional write raises whose condition does not hold."""

WRITES = {*REFUSALS, "delete"}


class Fault(enum.Enum):
    """Each fault strikes one request; all but the deaths leave the process to deal with it."""

    NONE = "answered"
    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    FAILS = "fails"
    """`Unavailable`: not done, and the process is told so."""

    LOST = "answer lost"
    """Done, and `OutcomeUnknown`."""

    UNDONE = "request lost"
    """Not done, and `OutcomeUnknown`."""

    HANGS = "hangs, arrives later"
    """`OutcomeUnknown` when the time limit is over; what it writes may arrive at any later moment,
    or never. A read that hangs is `Unavailable`."""

    REFUSED = "refused by its own success"
    """Done, and then refused: something below sent it twice, because the first answer was lost."""

    def strikes(self, method: str) -> bool:
        """Whether this can happen to such a request."""
        if self is Fault.REFUSED:
            return method in REFUSALS
        if self in (Fault.LOST, Fault.UNDONE):
            return method in WRITES
        return True


DEATHS = (Fault.DIES_BEFORE, Fault.DIES_AFTER)
EVERY = tuple(fault for fault in Fault if fault is not Fault.NONE)
