"""Waiting for other writers: short at first, longer later, never in step, never for ever."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

from singerlake.errors import CommitConflict


@dataclass
class Patience:
    """A bounded wait. `pause` sleeps and says whether there is time for another try."""

    seconds: float
    shortest: float = 0.02
    longest: float = 1.0
    started: float = field(default_factory=lambda: time.monotonic())

    def waited(self) -> float:
        return time.monotonic() - self.started

    def pause(self) -> bool:
        if self.waited() >= self.seconds:
            return False
        self.shortest = min(self.shortest * 1.5, self.longest)
        time.sleep(random.uniform(self.shortest / 2, self.shortest))
        return True


def lost_race(where: str, waited: float, unchanged: bool) -> CommitConflict:
    """The error for a document that could not be replaced in time; `unchanged` says that it is
    still the version that the store has refused to replace."""
    if unchanged:
        return CommitConflict(
            f"{where}: nobody changes it, and yet for {waited:.0f} s the store has refused to "
            "replace the version that it gives, or has not answered. Something before it may "
            "change ETags: `singerlake doctor` tries that"
        )
    return CommitConflict(
        f"{where}: other writers changed it each time for {waited:.0f} s; try again"
    )
