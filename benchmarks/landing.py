"""Records per second and memory of target-singerlake, next to igzip and to other targets.

Every command reads the same messages from a pipe that `cat` fills. Slow peers get fewer of the
same records, and rates are compared.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import environments, pipe, places
from benchmarks.environments import Skipped
from benchmarks.meter import measure
from benchmarks.pipe import Kind, Messages
from benchmarks.places import DISK, TMPFS, Place
from benchmarks.race import (
    Entrant,
    Found,
    Pipeline,
    about_igzip,
    config,
    failures,
    igzip,
    on_one_core,
    race,
    surroundings,
    table,
)
from benchmarks.result import Goal, Result, Table
from singerlake.lake import open_lake

TAP = "tap-bench--peer"
US, LIMIT, GZIP = "target-singerlake", "igzip -1", "gzip -1"
PINNED = "igzip -1, one core"
SDK, SDK_OFF, SDK_MSGSPEC = "SDK sink", "SDK sink unchecked", "SDK sink msgspec"
JSONL, DLT = "target-jsonl", "dlt filesystem"

KINDS = (pipe.SMALL, pipe.WIDE, pipe.MANY)
OF_SDK = 25
OF_LIMIT = {pipe.SMALL: 0.5, pipe.WIDE: 0.8}
OF_PINNED = {
    (pipe.SMALL, TMPFS): 0.38,
    (pipe.SMALL, DISK): 0.29,
    (pipe.WIDE, DISK): 0.65,
    (pipe.MANY, TMPFS): 0.10,
}
MOST_MEMORY = {pipe.SMALL: 60, pipe.WIDE: 60, pipe.MANY: 200}

_PEERS = Path(__file__).parent / "peers"
Command = Callable[[Path], Sequence[str]]


def run() -> Result:
    tables: list[Table] = []
    goals: list[Goal] = []
    notes = [about_igzip()]
    usual, *others = places.both()
    for kind in KINDS:
        entrants, skipped = _entrants(kind)
        found = race(entrants, usual.folder)
        tables.append(table(_title(kind, usual), found, found[US], found[LIMIT]))
        goals += _goals(kind, usual, found) + _goals_of_peers(kind, found)
        notes += skipped + failures(found)
        for place in others:
            if (kind, place.name) in OF_PINNED:
                found = race(_alone(kind), place.folder)
                tables.append(table(_title(kind, place), found, found[US], found[LIMIT]))
                goals += _goals(kind, place, found)
                notes += failures(found)
        _require_all(kind)
    notes += [
        *surroundings(),
        "A STATE follows every 10,000 records. Ours commits and flushes to the disk; igzip and "
        "gzip only write their output to a file.",
        "The SDK's sinks parse each record, check it, and write it anew, level 1; *unchecked* is "
        "with validation off, *msgspec* also with the SDK's quicker reader. We pass lines on as "
        "they are. target-jsonl checks each record, and does not compress. dlt "
        "parses and normalises each record.",
    ]
    return Result(tables, goals, notes)


def _title(kind: Kind, place: Place) -> str:
    messages = pipe.messages(kind, kind.records)
    size = messages.bytes / messages.records
    streams = "one stream" if kind.streams == 1 else f"{kind.streams} streams in turns"
    return (
        f"{messages.records:,} records of {size:.0f} bytes ({kind.name}), {streams}, {place.name}"
    )


def _goals(kind: Kind, place: Place, found: Mapping[str, Found]) -> list[Goal]:
    name, us = f"{kind.name}, {place.name}", found[US]
    goals = [Goal(f"{name}: peak memory, MB", us.peak, MOST_MEMORY[kind])]
    if (least := OF_PINNED.get((kind, place.name))) is not None:
        ratio = us.times(found[PINNED])
        goals.append(Goal(f"{name}: rate, of {PINNED}", ratio, least, at_least=True))
    return goals


def _goals_of_peers(kind: Kind, found: Mapping[str, Found]) -> list[Goal]:
    least = {LIMIT: OF_LIMIT.get(kind), SDK_OFF: OF_SDK}
    return [
        Goal(f"{kind.name}: rate, of {peer}", found[US].times(found[peer]), limit, at_least=True)
        for peer, limit in least.items()
        if limit is not None and peer in found and not found[peer].failure
    ]


@functools.cache
def lake(kind: Kind) -> Path:
    """A lake with the records of this kind, landed by the command."""
    folder = Path(pipe.folder().name, f"lake-of-{kind.name.replace(' ', '-')}")
    folder.mkdir()
    entrant = ours(pipe.messages(kind, kind.records))
    measure(entrant.work(folder), entrant.measured)
    return folder / "lake"


def _require_all(kind: Kind) -> None:
    """What was measured has to be right: every record is in the lake."""
    tap = open_lake(str(lake(kind))).tap(TAP)
    files = (file for stream in tap.streams() for file in stream.snapshot().files())
    landed = sum(file.records for file in files)
    if landed != kind.records:
        raise AssertionError(f"{kind.name}: {kind.records} records sent, {landed} landed")


def _alone(kind: Kind) -> list[Entrant]:
    """Without peers."""
    messages = pipe.messages(kind, kind.records)
    return [ours(messages), _limit(messages), _pinned(messages)]


def _entrants(kind: Kind) -> tuple[list[Entrant], list[str]]:
    """With peers, and words of those that are missing; none of them is for many streams."""
    if not kind.few:
        return _alone(kind), []
    all_of_it, few = pipe.messages(kind, kind.records), pipe.messages(kind, kind.few)
    gzip = _reading(GZIP, all_of_it, lambda _: ["gzip", "-1", "-c"], keeps_output=True)
    entrants, skipped = [*_alone(kind), gzip], []
    for name, validates, reader in (
        (SDK, True, "simple"),
        (SDK_OFF, False, "simple"),
        (SDK_MSGSPEC, False, "msgspec"),
    ):
        command = functools.partial(_sdk, validates=validates)
        entrants.append(_reading(name, few, command, {"PEER_READER": reader}))
    for package, make in (("target-jsonl", _jsonl), ("dlt", _dlt)):
        try:
            commands = environments.folder_of_commands(package)
            name = f"{JSONL if package == JSONL else DLT} {environments.version(package)}"
            entrants.append(_reading(name, few, functools.partial(make, commands=commands)))
        except Skipped as error:
            skipped.append(f"No comparison: {error}.")
    return entrants, skipped


def ours(messages: Messages) -> Entrant:
    return _reading(US, messages, _target, is_slow=False)


def _limit(messages: Messages) -> Entrant:
    return _reading(LIMIT, messages, lambda _: [*igzip(), "-1", "-c"], keeps_output=True)


def _pinned(messages: Messages) -> Entrant:
    """The limit, both commands on one core: it is the same from run to run."""
    limit = _limit(messages)
    return replace(
        limit,
        name=PINNED,
        work=lambda folder: on_one_core(limit.work(folder)),
        start=lambda folder: on_one_core(limit.start(folder)),
    )


def _reading(
    name: str,
    messages: Messages,
    command: Command,
    environment: dict[str, str] | None = None,
    keeps_output: bool = False,
    is_slow: bool | None = None,
) -> Entrant:
    """A command that reads the messages through a pipe. Those that read fewer are slow."""

    def pipeline(source: Path, folder: Path) -> Pipeline:
        return [["cat", str(source)], list(command(folder))]

    return Entrant(
        name,
        messages.records,
        messages.bytes,
        functools.partial(pipeline, messages.path),
        functools.partial(pipeline, pipe.empty()),
        measured=1,
        environment=environment or {},
        keeps_output=keeps_output,
        is_slow=not keeps_output if is_slow is None else is_slow,
    )


def _target(folder: Path) -> list[str]:
    settings = config(folder, lake_root=folder / "lake", tap_id=TAP)
    return [sys.executable, "-m", "target_singerlake", "--config", settings]


def _sdk(folder: Path, validates: bool) -> list[str]:
    settings = config(folder, folder=folder / "lake", validate_records=validates)
    return [sys.executable, str(_PEERS / "sdk_target.py"), "--config", settings]


def _jsonl(folder: Path, commands: Path) -> list[str]:
    settings = config(folder, destination_path=folder / "lake")
    return [str(commands / "target-jsonl"), "--config", settings]


def _dlt(folder: Path, commands: Path) -> list[str]:
    return [str(commands / "python"), str(_PEERS / "dlt_filesystem.py"), str(folder)]
