"""What a restore found of each stream, and what it did, for people and scripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

State = Literal["whole", "shorter", "newer files", "missing files", "no log", "gone"]
"""How a stream's log, its files and what is known of both stand to each other.

`whole`: all agrees. `shorter`: the log ends before something that was read or written of it, or
has other commits. `newer files`: files that it does not name. `missing files`: it names files, or
documents of merges, that are not there. `no log`: files, and no manifest that can be read. `gone`:
nothing is there.
"""


@dataclass(frozen=True)
class Restored:
    """One stream, before it was restored: `reasons` say what is missing, or newer than the log, and
    who knows. `last_sequence` is where its log ends, None without one."""

    tap_id: str
    stream: str
    state: State
    last_sequence: int | None = None
    newer_files: int = 0
    missing_files: int = 0
    reasons: tuple[str, ...] = ()


@dataclass
class RestoreReport:
    """`missing_taps` are those that the lake document knows of and that are not there.

    `documents`: what the catalogues and the lake document lack of what is there; `set_aside`:
    copies of those that cannot be read; `began_anew`: streams that have a new log now, with what
    they continue; `adopted`: files that the log names now; `recorded`: files that it named and that
    are gone; `skipped`: what cannot be read; `unpinned`: pins that cannot be read any more.
    """

    streams: list[Restored] = field(default_factory=list)
    missing_taps: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)
    began_anew: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unpinned: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether there was nothing to restore."""
        is_whole = all(one.state == "whole" for one in self.streams)
        return is_whole and not self.missing_taps and not self.documents
