"""How large and how old a buffer may get."""

from __future__ import annotations

from dataclasses import dataclass

HOUR = 3600.0


@dataclass(frozen=True)
class Limits:
    """`failing_seconds`: an age drops events only where sends have failed for so long."""

    retention_bytes: int = 1_000_000_000
    retention_hours: float = 168.0
    partition_bytes: int = 50_000_000
    partition_hours: float = 1.0
    dead_bytes: int = 100_000_000
    free_bytes: int = 16_000_000
    """What is left free on the disk, so that checkpoints can still be written."""

    failing_seconds: float = 900.0
    group_events: int = 512
    group_bytes: int = 4_000_000
    waiting_events: int = 10_000
    waiting_bytes: int = 64_000_000


DEFAULTS = Limits()
