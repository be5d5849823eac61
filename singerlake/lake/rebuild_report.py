"""What a rebuild did, for people and scripts."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass
class RebuildReport:
    """What a rebuild did.

    `adopted`: files that no manifest named, and now one does; `gone`: files that were named
    and are not there; `changed`: files that are not what the manifest said; `skipped`: files that
    are no readable Singer files, and unreadable documents of runs; `renumbered`: streams whose
    sequence numbers are new, and folders of runs whose numbers are; `continued`: streams whose
    log was begun anew, each with the last number that stayed; `runs`: rows of run logs;
    `set_aside`: copies of documents that could not be read; `unpinned`: pins, each with the stream
    in which it cannot be read any more; `missing`: what the lake knows of, and is not there: from
    now on it is not expected.
    """

    taps: int = 0
    streams: int = 0
    files: int = 0
    records: int = 0
    runs: int = 0
    adopted: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    renumbered: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)
    unpinned: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, other: RebuildReport) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))
