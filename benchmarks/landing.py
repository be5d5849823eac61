"""Records per second and memory of target-singerlake, next to igzip and to other targets.

Every command reads the same messages from a pipe that `cat` fills. Slow peers get fewer of the
same records, and rates are compared.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import environments, pipe
from benchmarks.environments import Skipped
from benchmarks.meter import measure
from benchmarks.pipe import Kind, Messages
from benchmarks.race import (
    SLOW_ROUNDS,
    Entrant,
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

OF_SDK = 25
OF_LIMIT = {pipe.SMALL: 0.5, pipe.WIDE: 0.8}
OF_PINNED = {pipe.SMALL: 0.29, pipe.WIDE: 0.65}
OF_PINNED_OF_MANY = 0.10
MOST_MEMORY, MOST_MEMORY_OF_MANY = 60, 200

_PEERS = Path(__file__).parent / "peers"
Command = Callable[[Path], Sequence[str]]


def run() -> Result:
    tables: list[Table] = []
    goals: list[Goal] = []
    notes = [about_igzip()]
    for kind in (pipe.SMALL, pipe.WIDE):
        entrants, skipped = _entrants(kind)
        found = race(entrants)
        us, limit = found[US], found[LIMIT]
        messages = pipe.messages(kind, kind.records)
        size = messages.bytes / messages.records
        title = f"{messages.records:,} records of {size:.0f} bytes ({kind.name}), one stream"
        tables.append(table(title, found, us, limit))
        goals += [
            Goal(f"{kind.name}: rate, of {LIMIT}", us.times(limit), OF_LIMIT[kind], at_least=True),
            Goal(
                f"{kind.name}: rate, of {PINNED}",
                us.times(found[PINNED]),
                OF_PINNED[kind],
                at_least=True,
            ),
            Goal(f"{kind.name}: peak memory, MB", us.peak, MOST_MEMORY),
        ]
        if not found[SDK_OFF].failure:
            ratio = us.times(found[SDK_OFF])
            goals.append(Goal(f"{kind.name}: rate, of {SDK_OFF}", ratio, OF_SDK, at_least=True))
            most = limit.times(found[SDK_OFF])
            notes.append(f"{kind.name}: {LIMIT} itself has {most:.0f} times the rate of {SDK_OFF}.")
        notes += skipped + failures(found)
    messages = pipe.messages(pipe.MANY, pipe.MANY.records)
    entrants = [ours(messages), _limit(messages), _pinned(messages)]
    found = race(entrants, rounds=SLOW_ROUNDS)
    title = f"{messages.records:,} small records of {pipe.MANY.streams} streams in turns"
    tables.append(table(title, found, found[US], found[LIMIT]))
    many = f"{pipe.MANY.streams} streams"
    ratio = found[US].times(found[PINNED])
    goals += [
        Goal(f"{many}: rate, of {PINNED}", ratio, OF_PINNED_OF_MANY, at_least=True),
        Goal(f"{many}: peak memory, MB", found[US].peak, MOST_MEMORY_OF_MANY),
    ]
    for kind in (pipe.SMALL, pipe.WIDE, pipe.MANY):
        _require_all(kind)
    notes += [
        *failures(found),
        *surroundings(),
        "A STATE follows every 10,000 records. Ours commits and flushes to the disk; igzip and "
        "gzip only write their output to a file.",
        "The SDK's sinks parse each record, check it, and write it anew, level 1; *unchecked* is "
        "with validation off, *msgspec* also with the SDK's quicker reader. We pass lines on as "
        "they are. target-jsonl checks each record, and does not compress. dlt "
        "parses and normalises each record.",
    ]
    return Result(tables, goals, notes)


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


def _entrants(kind: Kind) -> tuple[list[Entrant], list[str]]:
    all_of_it, few = pipe.messages(kind, kind.records), pipe.messages(kind, kind.few)
    gzip = _reading(GZIP, all_of_it, lambda _: ["gzip", "-1", "-c"], keeps_output=True)
    entrants, skipped = [ours(all_of_it), _limit(all_of_it), _pinned(all_of_it), gzip], []
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
