"""`python -m tests.faults.lake_work FOLDER [VARIANT]`: a life of a lake in a local folder.

Real target runs, with many small commits and sealed segments, and between them vacuums and purges
by the command. Some runs gather their files on the disk, as they would larger ones. The target's
own STATE lines are the promises: `{"next": 7}` when all records below 7 are safe. Variants are
broken on purpose: a suite has to see them.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from unittest import mock

from singerlake.cli.main import main as singerlake
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.lake import (
    CheckReport,
    LockTimes,
    Writer,
    WriterOptions,
    check,
    open_on,
    rebuild,
    spool,
)
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import LocalStore, Store, disk
from target_singerlake import command, landing
from tests.faults.pipeline import LEFTOVERS
from tests.lake.landing import codes, record_line, schema_line

TAP = "tap-test--tests"
STREAMS = ("orders", "customers")
LIFE = (12, 8, "vacuum", 2, "vacuum", "purge", 4, 4, "vacuum", 1, "purge", 2)
"""Runs, by their records, and what looks after the lake between them."""

WORK = {
    "vacuum": ("vacuum", "--apply", "--here"),
    "purge": ("vacuum", "--purge", "--grace", "0", "--apply"),
}
IN_MEMORY = (0, spool.IN_MEMORY)
"""Bytes of a file that are not gathered on the disk, in turns."""

FAN_OUT = 2
FRESH = 1000
NOW = timedelta(0)
TIMES = LockTimes(stale_after=0.02, refresh_every=30.0, max_wait=30.0, settle=0.0)
UNFINISHED = "orphan-merge"
"""Of a vacuum that did not come to its end: a purge takes it."""

HIDDEN = ".singerlake-tmp"
"""What the store keeps for itself below the folder."""


def main(folder: Path, variant: str) -> None:
    VARIANTS[variant]()
    manifests.FAN_OUT = FAN_OUT
    begin = 0
    with tempfile.TemporaryDirectory() as aside:
        for number, step in enumerate(LIFE):
            if isinstance(step, int):
                with mock.patch.object(spool, "IN_MEMORY", IN_MEMORY[number % 2]):
                    _run(folder, Path(aside), range(begin, begin + step))
                begin += step
            else:
                command_, *rest = WORK[step]
                singerlake([command_, str(folder), *rest], standalone_mode=False)


def _run(folder: Path, aside: Path, numbers: range) -> None:
    """A run of the target, which commits after every second record of a stream."""
    config = {"lake_root": str(folder), "tap_id": TAP, "max_file_records": 2}
    (aside / "config.json").write_text(json.dumps(config))
    (aside / "input").write_bytes(b"".join(line + b"\n" for line in _lines(numbers)))
    sys.argv = ["target-singerlake", "--config", str(aside / "config.json")]
    with (aside / "input").open() as source, mock.patch.object(sys, "stdin", source):
        command.main()


def _lines(numbers: range) -> Iterator[bytes]:
    for stream in STREAMS:
        yield schema_line(stream)
    for number in numbers:
        yield record_line(number, _stream(number))
        yield json.dumps({"type": "STATE", "value": {"next": number + 1}}).encode()


def _stream(number: int) -> str:
    return STREAMS[number // 2 % len(STREAMS)]


def broken_promises(said: Sequence[str], folder: Path) -> list[str]:
    """What an image of the folder breaks: nothing, if all is well."""
    states = [json.loads(line) for line in said if line.startswith('{"next"')]
    acknowledged = set(range(max([one["next"] for one in states], default=0)))
    try:
        with mock.patch.object(manifests, "FAN_OUT", FAN_OUT):
            return list(_broken(LocalStore(folder), acknowledged))
    except Exception as error:  # garbage may come out at any place
        return [f"the lake does not work: {type(error).__name__}: {error}"]


def _broken(store: Store, acknowledged: set[int]) -> Iterator[str]:
    yield from _wrong(store, acknowledged)
    if any(True for _ in store.list("")):
        yield from _left(check(store, fix=True, times=TIMES), {*LEFTOVERS, UNFINISHED})
        yield from _left(check(store, times=TIMES), {UNFINISHED})
    safe = acknowledged | set(_numbers(store))
    for number, stream in enumerate(STREAMS, FRESH):
        with _writer(store) as writer:
            writer.write(schema_line(stream))
            writer.write(record_line(number, stream))
            writer.commit()
        safe.add(number)
    yield from _wrong(store, safe)
    for stream in STREAMS:
        keys = StreamKeys(TAP, stream)
        vacuum(store, keys, VacuumOptions(lock=TIMES))
        purge(store, keys, NOW, abandoned=NOW)
    yield from _wrong(store, safe)
    yield from _left(check(store, times=TIMES), set())
    for stream in STREAMS:
        store.delete(StreamKeys(TAP, stream).manifest)
    rebuild(store)
    yield from _wrong(store, safe)


def _writer(store: Store) -> Writer:
    return open_on(store, create=True).writer(TAP, options=WriterOptions(lock=TIMES))


def _wrong(store: Store, safe: set[int]) -> Iterator[str]:
    there = Counter(_numbers(store))
    if lost := safe - there.keys():
        yield f"lost: {sorted(lost)}"
    if twice := [number for number, times in there.items() if times > 1]:
        yield f"twice: {sorted(twice)}"


def _numbers(store: Store) -> Iterator[int]:
    """What a reader gets; of a lake that has no document yet, nothing."""
    if not any(row.key == "raw/singerlake.json" for row in store.list("raw")):
        return
    lake = open_on(store)
    for tap in lake.taps():
        for stream in tap.streams():
            yield from (record["id"] for record in stream.snapshot().records())


def _left(report: CheckReport, allowed: set[str]) -> Iterator[str]:
    if wrong := set(codes(report)) - allowed:
        yield f"found by a check: {sorted(wrong)}"


def _unsynced() -> None:
    """What is written is not synced before it is linked."""
    sync = os.fsync

    def folders_only(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            sync(handle)

    os.fsync = folders_only


def _unsynced_spool() -> None:
    """What was gathered on the disk is linked as it is."""
    disk.sync_file = lambda path: None


def _nameless_spool() -> None:
    """The name that it gets is not synced."""
    linked = LocalStore._linked

    def spooled(self: LocalStore, source: Path, path: Path, durable: bool = True) -> bool:
        from_spool = source.parent != self.own_folder
        return linked(self, source, path, durable and not from_spool)

    LocalStore._linked = spooled  # type: ignore[method-assign]


def _nameless() -> None:
    """New names are not synced."""
    disk.sync_folder = lambda folder: None


def _rootless() -> None:
    """New folders are not synced, only what is in them."""
    disk.make_folder = lambda folder: folder.mkdir(parents=True, exist_ok=True)


def _early() -> None:
    """A STATE goes out before its records are committed."""
    state = landing.Landing.state

    def early(self: landing.Landing, value: bytes) -> None:
        state(self, value)
        landing._emit(value, self._log)

    landing.Landing.state = early  # type: ignore[method-assign]
    landing.Landing._pass_on = lambda self: None  # type: ignore[method-assign]


def _linkless() -> None:
    """Not broken: a file system without hard links, where a file is renamed to its name."""

    def refused(source: Path, path: Path, durable: bool = True) -> None:
        raise PermissionError(errno.EPERM, "no hard links here")

    disk.link_new = refused


VARIANTS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "unsynced": _unsynced,
    "unsynced-spool": _unsynced_spool,
    "nameless-spool": _nameless_spool,
    "nameless": _nameless,
    "rootless": _rootless,
    "early": _early,
    "linkless": _linkless,
}

if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
