"""A lake whose feed is followed, and what happens to it: by writers, keepers, and bad luck."""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Iterable
from datetime import timedelta

import msgspec

from singerlake.errors import BusyError, DamageError, NotFound, Unavailable
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.format.keys import FileName, RunKeys, StreamKeys, file_path
from singerlake.format.run import RunStream
from singerlake.lake import Writer, clock, log, open_on, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.runs import documents, marking
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Stored, StoreWrapper
from tests.faults.truth import Shelf
from tests.faults.work import TIMES
from tests.faults.world import in_order
from tests.lake.landing import (
    TAP,
    options,
    overwrite,
    record_line,
    schema_hash,
    schema_line,
    singer_file,
    time_of,
)
from tests.lake.running import Running

TAPS = (TAP, "tap-other--tests")
STREAMS = ("orders", "people", "*")
EVERY = tuple(StreamKeys(tap, stream) for tap in TAPS for stream in STREAMS)
NOW = timedelta(0)
SAVED = 8

_names = itertools.count()


class Outage(StoreWrapper):
    """A store that gives no answer about some keys."""

    def __init__(self, inner: Shelf) -> None:
        super().__init__(inner)
        self.down = ""

    def read(self, key: str) -> Stored:
        self._require(key)
        return self.inner.read(key)

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        self._require(key)
        return self.inner.read_if_changed(key, validator)

    def _require(self, key: str) -> None:
        if self.down and self.down in key:
            raise Unavailable(f"{key}: no answer")


class Stage:
    """What it does may find the lake damaged by what came before: then nothing happens."""

    def __init__(self) -> None:
        self.store = Shelf(f"feed-{next(_names)}")
        self.seen = Outage(self.store)
        self.runs: list[Running] = []
        self.saved: deque[tuple[StreamKeys, bytes]] = deque(maxlen=SAVED)
        self.saved_runs: deque[tuple[str, bytes]] = deque(maxlen=SAVED)
        self._next = 0
        open_on(self.store, create=True)

    # Writers

    def new(self, count: int) -> list[int]:
        self._next += count
        return list(range(self._next - count, self._next))

    def commit(self, keys: StreamKeys, count: int) -> None:
        self._save(keys)
        with unless_damaged(), self._writer(keys.tap_id) as writer:
            writer.write(schema_line(keys.stream))
            for number in self.new(count):
                writer.write(record_line(number, keys.stream))
            writer.commit()

    def _writer(self, tap: str) -> Writer:
        return open_on(self.store, create=True).writer(tap, options=_SERIAL)

    def adopt(self, keys: StreamKeys, count: int) -> None:
        """One commit of several files: those of writers that died before it."""
        with unless_damaged():
            log.read_head(self.store, keys)
            for number in self.new(count):
                lines = [schema_line(keys.stream), record_line(number, keys.stream)]
                name = FileName(keys.stream, time_of(number), time_of(number))
                path = file_path(schema_hash(keys.stream), name)
                self.store.create(keys.under(path), singer_file(lines))
            rebuild(self.store, keys.tap_id, keys.stream)

    # Runs

    def begin(self, keys: StreamKeys) -> None:
        with unless_damaged():
            run = Running(self.store, f"r-{len(self.runs)}", keys.stream, tap=keys.tap_id)
            run.commit(self.new(1))
            self.runs.append(run)

    def go_on(self, run: Running) -> None:
        with unless_damaged():
            run.commit(self.new(1))

    def end(self, run: Running, others: Iterable[str]) -> None:
        """It names other streams too, some of which may not exist."""
        self.runs.remove(run)
        with contextlib.suppress(NotFound):
            self.saved_runs.append((run.tap, self.store.read(RunKeys(run.tap).log).data))
        with unless_damaged():
            left = {name: self._end_of(StreamKeys(run.tap, name)) for name in others}
            run.end(**{name: part for name, part in left.items() if name != run.stream})

    def run(self, keys: StreamKeys) -> None:
        """From its beginning to its end."""
        before = len(self.runs)
        self.begin(keys)
        for run in self.runs[before:]:
            self.end(run, ())

    def _end_of(self, keys: StreamKeys) -> RunStream:
        try:
            manifest = log.read_head(self.store, keys).manifest
        except NotFound:
            return RunStream()
        last = manifest.last_sequence
        return RunStream(log_id=manifest.log_id, first_sequence=min(last, 1), last_sequence=last)

    def mark(self, tap: str, which: int) -> None:
        """Somebody corrects how a run ended."""
        with unless_damaged():
            if names := list(documents.names(self.store, RunKeys(tap))):
                name = names[which % len(names)]
                run, _ = documents.read(self.store, RunKeys(tap), name)
                outcome = "failed" if run.outcome == "complete" else "complete"
                marking.mark(self.store, tap, name, outcome, by="us")

    # Keepers

    def vacuum(self, keys: StreamKeys, size: int) -> None:
        with unless_damaged():
            made = VacuumOptions(target_bytes=size, lock=TIMES)
            vacuum(self.store, keys, made, run=in_order)

    def purge(self, keys: StreamKeys) -> None:
        with unless_damaged():
            purge(self.store, keys, NOW, abandoned=NOW)

    def rebuild(self) -> None:
        with unless_damaged():
            rebuild(self.store)

    def forget_revisions(self, keys: StreamKeys) -> None:
        """As an older Singerlake does, which writes the manifest without the fields."""
        with unless_damaged():
            head = log.read_head(self.store, keys)
            commit = msgspec.structs.replace(head.manifest.commit, id="older", time=clock.now())
            changed = msgspec.structs.replace(
                head.manifest, revision=None, revisions=(), commit=commit
            )
            self.store.replace(keys.manifest, manifests.encode(changed), head.version)

    # Bad luck

    def _save(self, keys: StreamKeys) -> None:
        """As a backup does."""
        with contextlib.suppress(NotFound):
            self.saved.append((keys, self.store.read(keys.manifest).data))

    def restore(self, which: int) -> StreamKeys:
        keys, data = self.saved[which % len(self.saved)]
        overwrite(self.store, keys.manifest, data)
        return keys

    def restore_runs(self, which: int) -> str:
        tap, data = self.saved_runs[which % len(self.saved_runs)]
        overwrite(self.store, RunKeys(tap).log, data)
        return tap

    def lose_a_file(self, keys: StreamKeys, which: int) -> None:
        with unless_damaged():
            files = list(log.files(self.store, keys, log.read_head(self.store, keys).manifest))
            if files:
                self.store.delete(keys.under(files[which % len(files)].path))
                rebuild(self.store, keys.tap_id, keys.stream)

    def lose(self, key: str) -> None:
        self.store.delete(key)

    def lose_stream(self, keys: StreamKeys) -> None:
        for row in list(self.store.list(keys.folder)):
            self.store.delete(row.key)

    def spoil(self, key: str) -> None:
        with contextlib.suppress(NotFound):
            self.store.read(key)
            overwrite(self.store, key, b"{")


def documents_of(keys: StreamKeys) -> tuple[str, ...]:
    """What can be lost or spoiled, and made again by a rebuild."""
    return (
        keys.manifest,
        RunKeys(keys.tap_id).log,
        key_names.catalogue(keys.tap_id),
        key_names.LAKE_DOCUMENT,
        keys.manifest_copy,
    )


_SERIAL = options(TIMES, uploads=1)


def unless_damaged() -> contextlib.AbstractContextManager[None]:
    """Who meets the damage gives up, and leaves it to a rebuild."""
    return contextlib.suppress(DamageError, BusyError, NotFound)
