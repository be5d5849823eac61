"""The keys of a tap's runs: their documents, their log, and the segments of the log."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime

from singerlake.format import times
from singerlake.format.names import escape, tap_folder

FOLDER = "_runs"
"""No stream has this folder: the first `_` of a name is escaped."""

_RUN = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[A-Za-z0-9._!-]+\.json", re.ASCII)
_SEGMENT = re.compile(r"\d+-\d+-\d+-[0-9a-f]{8}\.json", re.ASCII)
_LONGEST_ID = 74
"""So that the name, with both ids, is no longer than any other segment of a path."""


@dataclass(frozen=True)
class RunKeys:
    """The keys of one tap's runs."""

    tap_id: str

    @property
    def folder(self) -> str:
        return f"{tap_folder(self.tap_id)}/{FOLDER}"

    @property
    def log(self) -> str:
        return f"{self.folder}/log.json"

    def under(self, path: str) -> str:
        """The key of a path that the log gives relative to the folder of the runs."""
        return f"{self.folder}/{path}"


def run_name(begun: datetime, run_id: str, writer_id: str) -> str:
    """The name of a run's document: names sort by the time at which the runs began."""
    return f"{times.stamp(begun)}-{_short(run_id)}-{_short(writer_id)}.json"


def _short(name: str) -> str:
    """An escaped id, cut where both ids of a name would take more than a path segment has."""
    segment = escape(name)
    if len(segment) <= _LONGEST_ID:
        return segment
    digest = hashlib.sha256(segment.encode()).hexdigest()[:16]
    return f"{segment[: _LONGEST_ID - 17]}-{digest}"


def segment_path(level: int, first: int, last: int, unique: str) -> str:
    """A segment's path as the log has it; `unique` is eight hexadecimal digits."""
    return f"_segments/{level}-{first:012d}-{last:012d}-{unique}.json"


@dataclass(frozen=True)
class RunObject:
    """Something in the folder of a tap's runs: `kind` is log, run or segment."""

    tap_id: str
    kind: str
    path: str


def parse(tap_id: str, rest: list[str]) -> RunObject | None:
    """What a path in the folder of the runs is, by its segments; None for what is not ours."""
    path, leaf = "/".join(rest), rest[-1]
    if path == "log.json":
        return RunObject(tap_id, "log", path)
    if rest[:-1] == ["_segments"] and _SEGMENT.fullmatch(leaf):
        return RunObject(tap_id, "segment", path)
    if len(rest) == 1 and _RUN.fullmatch(leaf):
        return RunObject(tap_id, "run", path)
    return None
