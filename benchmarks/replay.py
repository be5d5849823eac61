"""Records per second of tap-singerlake, next to `igzip -dc` and to an SDK stream.

The lake is landed by target-singerlake. Every command writes to a pipe that `cat` empties.
"""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks import landing, pipe
from benchmarks.meter import measure
from benchmarks.pipe import Kind
from benchmarks.race import (
    Entrant,
    Found,
    about_igzip,
    config,
    failures,
    igzip,
    race,
    surroundings,
    table,
)
from benchmarks.result import Goal, Result, Table

US, LIMIT, LIMIT_WHOLE, GZIP = "tap-singerlake", "igzip -dc", "igzip -dc whole", "gzip -dc"
SDK, SDK_MSGSPEC = "SDK stream", "SDK stream msgspec"
OF_LIMIT, OF_SDK = 1.2, 50

_PEER = Path(__file__).parent / "peers" / "sdk_tap.py"


def run() -> Result:
    tables: list[Table] = []
    goals: list[Goal] = []
    notes = [about_igzip()]
    for kind in (pipe.SMALL, pipe.WIDE):
        _require_all(kind)
        found = race(_entrants(kind))
        us, limit = found[US], _faster(found[LIMIT], found[LIMIT_WHOLE])
        messages = pipe.messages(kind, kind.records)
        size = messages.bytes / messages.records
        title = f"{messages.records:,} records of {size:.0f} bytes ({kind.name})"
        tables.append(table(title, found, us, limit, with_output=False))
        name = limit.entrant.name
        goals += [
            Goal(f"{kind.name}: rate, of {name}", us.times(limit), OF_LIMIT, at_least=True),
            Goal(f"{kind.name}: rate, of an {SDK}", us.times(found[SDK]), OF_SDK, at_least=True),
        ]
        notes += failures(found)
    notes += [
        *surroundings(),
        f"`{LIMIT}` reads the lake's own files, joined; `{LIMIT_WHOLE}` the same messages as "
        "igzip -1 writes them. Goals are held to the faster of the two.",
        "The SDK's stream yields records that are in memory: it reads and parses nothing.",
    ]
    return Result(tables, goals, notes)


def _faster(one: Found, other: Found) -> Found:
    return one if one.wall <= other.wall else other


def _entrants(kind: Kind) -> list[Entrant]:
    messages = pipe.messages(kind, kind.records)
    name = kind.name.replace(" ", "-")
    stored = Path(pipe.folder().name, f"{name}-stored.gz")
    with stored.open("wb") as joined:
        for path in sorted(landing.lake(kind).rglob("*.singer.gz")):
            with path.open("rb") as file:
                shutil.copyfileobj(file, joined)
    whole = Path(pipe.folder().name, f"{name}-whole.gz")
    nothing = Path(pipe.folder().name, "nothing.gz")
    measure([["cat", str(messages.path)], [*igzip(), "-1", "-c"]], 1, whole)
    measure([["cat", str(pipe.empty())], [*igzip(), "-1", "-c"]], 1, nothing)
    # A stream whose schema came, and no record.
    bare = Path(pipe.folder().name, f"{name}-bare")
    bare.mkdir()
    _land(pipe.schema_only(kind), bare)

    def gunzip(command: list[str], path: Path) -> Command:
        return lambda _: [*command, str(path)]

    make = functools.partial(_writing, records=kind.records, raw_bytes=messages.bytes)
    sdk = functools.partial(
        _writing,
        work=_sdk(messages.path, kind.few),
        start=_sdk(messages.path, 0),
        records=kind.few,
        raw_bytes=messages.bytes * kind.few // kind.records,
        is_slow=True,
    )
    unpack = [*igzip(), "-d", "-c"]
    return [
        make(US, work=tap(landing.lake(kind)), start=tap(bare / "lake")),
        make(LIMIT, work=gunzip(unpack, stored), start=gunzip(unpack, nothing)),
        make(LIMIT_WHOLE, work=gunzip(unpack, whole), start=gunzip(unpack, nothing)),
        make(GZIP, work=gunzip(["gzip", "-dc"], stored), start=gunzip(["gzip", "-dc"], nothing)),
        sdk(SDK, environment={"PEER_WRITER": "simple"}),
        sdk(SDK_MSGSPEC, environment={"PEER_WRITER": "msgspec"}),
    ]


Command = Callable[[Path], Sequence[str]]


def _writing(
    name: str,
    work: Command,
    start: Command,
    records: int,
    raw_bytes: int,
    environment: dict[str, str] | None = None,
    is_slow: bool = False,
) -> Entrant:
    """A command whose output goes through a pipe to nowhere."""
    return Entrant(
        name,
        records,
        raw_bytes,
        lambda folder: [list(work(folder)), ["cat"]],
        lambda folder: [list(start(folder)), ["cat"]],
        measured=0,
        environment=environment or {},
        is_slow=is_slow,
    )


def tap(lake: Path) -> Command:
    def command(folder: Path) -> list[str]:
        settings = config(folder, lake_root=lake)
        return [sys.executable, "-m", "tap_singerlake", "--config", settings]

    return command


def _sdk(sample: Path, records: int) -> Command:
    def command(folder: Path) -> list[str]:
        settings = config(folder, sample=sample, records=records)
        return [sys.executable, str(_PEER), "--config", settings]

    return command


def _land(messages: Path, folder: Path) -> None:
    settings = config(folder, lake_root=folder / "lake", tap_id=landing.TAP)
    target = [sys.executable, "-m", "target_singerlake", "--config", settings]
    measure([["cat", str(messages)], target], 1)


def _require_all(kind: Kind) -> None:
    """What is measured has to be right: the record lines that come out are those that went in."""
    folder = Path(pipe.folder().name)
    replayed = folder / "replayed.singer"
    measure([list(tap(landing.lake(kind))(folder)), ["cat"]], 0, replayed)
    sent = pipe.messages(kind, kind.records).path
    with sent.open("rb") as one, replayed.open("rb") as other:
        same = all(a == b for a, b in zip(_records(one), _records(other), strict=True))
    replayed.unlink()
    if not same:
        raise AssertionError(f"{kind.name}: other records came out than went in")


def _records(lines: Iterable[bytes]) -> Iterator[bytes]:
    return (line for line in lines if line.startswith(b'{"type":"RECORD"'))
