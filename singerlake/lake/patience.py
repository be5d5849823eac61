"""Waiting for other writers: short at first, longer later, never in step, never for ever."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field


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
