"""What a check finds, and how bad it is."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Level(enum.Enum):
    """How bad a finding is."""

    ERROR = "error"
    """A promise of the format is broken: a reader may fail, or miss a record."""

    LEFTOVER = "leftover"
    """What a crash leaves behind: no reader sees it, `--fix` cleans it up."""

    NOTE = "note"
    """Nothing wrong: something that a person may want to know."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as the spec has it. `fixable`: `check --fix` mends it."""

    level: Level
    code: str
    key: str
    message: str
    fixable: bool = False


@dataclass
class CheckReport:
    """All findings, what was mended, and how much was looked at."""

    findings: list[Finding] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    streams: int = 0
    files: int = 0
    records: int = 0
    bytes: int = 0

    def of(self, level: Level) -> list[Finding]:
        return [finding for finding in self.findings if finding.level is level]

    @property
    def clean(self) -> bool:
        """True where there are no errors and no leftovers."""
        return not self.of(Level.ERROR) and not self.of(Level.LEFTOVER)
