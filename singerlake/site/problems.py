"""What a check found, sorted by where it belongs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from singerlake.errors import BadName, ConfigError
from singerlake.format import keys
from singerlake.lake import CheckReport, Finding, Level

Place = tuple[str | None, str | None]
"""A tap and a stream: of the whole lake where both are None, of a tap where the stream is."""

ORDER = {Level.ERROR: 0, Level.LEFTOVER: 1, Level.NOTE: 2}


@dataclass(frozen=True)
class Checked:
    """A check that was made, and when."""

    moment: datetime
    findings: tuple[Finding, ...]
    streams: int
    files: int
    records: int


@dataclass(frozen=True)
class Problem:
    """One finding, with its place."""

    place: Place
    level: Level
    what: str
    where: str
    message: str


class _Report(msgspec.Struct):
    """The answer of `singerlake check --json`, as far as it is needed."""

    findings: list[Finding]
    streams: int = 0
    files: int = 0
    records: int = 0


def of_report(report: CheckReport, moment: datetime) -> Checked:
    return Checked(moment, tuple(report.findings), report.streams, report.files, report.records)


def read_report(data: bytes, where: str, moment: datetime) -> Checked:
    """What `singerlake check --json` printed. Raises `ConfigError`."""
    try:
        report = msgspec.json.decode(data, type=_Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(
            f"{where}: expected what `singerlake check --json` prints, found another thing: {error}"
        ) from None
    return Checked(moment, tuple(report.findings), report.streams, report.files, report.records)


def of_check(checked: Checked | None) -> list[Problem]:
    """The findings as problems, each with its place."""
    findings = checked.findings if checked is not None else ()
    return [
        Problem(place_of(found.key), found.level, found.code, found.key, _told(found))
        for found in findings
    ]


def _told(found: Finding) -> str:
    """The message without the address that it may begin with: the key is shown already."""
    address, key, rest = found.message.partition(f"{found.key}: ")
    return rest if key and " " not in address else found.message


def noticed(place: Place, messages: Iterable[str], root: str) -> list[Problem]:
    """What reading the lake at `root` for the site could not get past."""
    return [
        Problem(place, Level.ERROR, "unreadable", "", message.replace(f"{root}/", ""))
        for message in messages
    ]


def worst_first(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda one: (ORDER[one.level], one.what, one.where))


def serious(problems: Sequence[Problem]) -> int:
    """How many are more than a note."""
    return sum(problem.level is not Level.NOTE for problem in problems)


def place_of(key: str) -> Place:
    """The tap and stream to which a key belongs, as far as it says so.

    The lake's own documents have names that no tap or stream is given.
    """
    root, *segments = key.split("/")
    names: list[str | None] = []
    for segment in segments[:2] if root == keys.ROOT else []:
        try:
            names.append(keys.unescape(segment))
        except BadName:
            break
    tap, stream, *_ = [*names, None, None]
    return tap, stream
