"""What a writer refuses, and that what failed once is never followed by a success."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import BadMessage, ConfigError, StoreError
from singerlake.format import compression, message
from singerlake.format.keys import StreamKeys
from singerlake.format.nesting import DEEPEST_LINE
from singerlake.lake import WriterOptions, open_on, spool
from singerlake.lake.rebuilding import rebuild
from singerlake.lake.spool import Compressor
from singerlake.lake.writer import Writer
from singerlake.store import Store
from tests.lake.faulty_store import LOCK_CREATE, UPLOAD, Hooked, Intercepting, Result
from tests.lake.landing import (
    STREAM,
    TAP,
    assert_clean,
    new_store,
    objects_in,
    options,
    record_line,
    schema_line,
)

OTHER = "customers"
PORTIONS = 24_000  # records: more than two portions for the compressor


@pytest.mark.parametrize(
    "options",
    [
        {"compression_level": 0},
        {"compression_level": 10},
        {"uploads": 0},
        {"max_file_bytes": 0},
        {"max_file_records": 0},
    ],
)
def test_options_out_of_range_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(options))} is .*: expected"):
        WriterOptions(**options)


@pytest.mark.parametrize("missing", [True, False], ids=["a setting", "none of the system's"])
def test_a_folder_for_temporary_files_that_cannot_be_used_is_told(
    missing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "missing" if missing else None
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/nowhere"])
    told = f"{folder}.*spool_folder" if folder else "No usable.*TMPDIR"
    with pytest.raises(ConfigError, match=told):
        open_on(new_store(), create=True).writer(TAP, options=options(spool_folder=folder))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.001)


def write_portions(store: Store, all_sent: threading.Event) -> None:
    """A file of several portions; the event tells once each of them waits for the compressor."""
    with open_on(store, create=True).writer(TAP, options=options()) as writer:
        writer.write(schema_line())
        for number in range(PORTIONS):
            writer.write(record_line(number))
        all_sent.set()


def test_a_portion_that_could_not_be_compressed_stops_the_commit_though_later_ones_could(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, all_sent, failed = new_store(), threading.Event(), threading.Event()
    member = compression.member

    def failing_once(data: bytes, level: int, name: str = "") -> bytes:
        if not name and not failed.is_set():
            failed.set()
            assert all_sent.wait(60)
            raise MemoryError("on purpose")
        return member(data, level, name)

    monkeypatch.setattr(compression, "member", failing_once)
    with pytest.raises(MemoryError, match="on purpose"):
        write_portions(store, all_sent)
    assert objects_in(store, ".singer.gz") == []


def test_a_disk_that_was_full_for_a_moment_leaves_no_hole_in_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, all_sent = new_store(), threading.Event()
    opened = Path.open
    spills = 0

    class FullOnce:
        """A file that takes half of the second spill."""

        def __init__(self, file: Any) -> None:
            self._file = file

        def __enter__(self) -> FullOnce:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

        def tell(self) -> int:
            return int(self._file.tell())

        def write(self, data: bytes) -> None:
            nonlocal spills
            spills += 1
            if spills == 2:
                self._file.write(bytes(data)[: len(data) // 2])
                assert all_sent.wait(60)
                raise OSError(errno.ENOSPC, "No space left on device")
            self._file.write(data)

    def opening(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        file = opened(path, mode, *rest, **named)
        return FullOnce(file) if mode in ("ab", "xb") else file

    monkeypatch.setattr(spool, "IN_MEMORY", 1)
    monkeypatch.setattr(Path, "open", opening)
    with pytest.raises(ConfigError, match="No space left"):
        write_portions(store, all_sent)
    assert spills >= 2
    assert objects_in(store, ".singer.gz") == []


class FullDisk(Intercepting):
    """Refuses uploads while it is full; where `held` is set, only once that lets them go on."""

    full = False
    held: threading.Event | None = None

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if self.full and UPLOAD(method, key):
            if self.held is not None:
                assert self.held.wait(60)
            raise StoreError("the disk is full, on purpose")
        return call()


@pytest.mark.parametrize("late", [False, True], ids=["known by then", "known only later"])
def test_a_commit_fails_where_an_earlier_flush_did_though_nobody_asked_for_its_result(
    late: bool,
) -> None:
    store = FullDisk(new_store())
    writer = open_on(store, create=True).writer(TAP, options=options())
    writer.write(schema_line())
    writer.write(record_line(1))
    store.full, store.held = True, threading.Event()
    flush = writer.flush()
    if not late:
        store.held.set()
        until(flush.done)
        store.full = False

    def more() -> None:
        writer.write(schema_line(OTHER))
        writer.write(record_line(2, OTHER))
        if store.held is not None:
            store.held.set()
        writer.commit()

    try:
        for work in (more, writer.commit, writer.flush):
            with pytest.raises(StoreError, match="on purpose"):
                work()
    finally:
        writer.close()


def test_a_with_block_whose_earlier_flush_failed_ends_with_the_error() -> None:
    store = FullDisk(new_store())

    def work() -> None:
        with open_on(store, create=True).writer(TAP, options=options()) as writer:
            writer.write(schema_line())
            writer.write(record_line(1))
            store.full = True
            until(writer.flush().done)
            store.full = False

    with pytest.raises(StoreError, match="on purpose"):
        work()
    assert objects_in(store, ".singer.gz") == []


def test_a_second_commit_does_not_succeed_without_what_the_first_could_not_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = new_store()
    writer = open_on(store, create=True).writer(TAP, options=options())

    def refuse(*_: object) -> None:
        raise MemoryError("on purpose")

    try:
        writer.write(schema_line())
        writer.write(record_line(1))
        with monkeypatch.context() as patch:
            patch.setattr(Compressor, "submit", refuse)
            with pytest.raises(MemoryError):
                writer.commit()
        with pytest.raises(MemoryError):
            writer.commit()
    finally:
        writer.close()


@pytest.mark.parametrize("more", [True, False], ids=["and it goes on", "at its end"])
def test_a_temporary_file_that_somebody_removed_stops_the_commit(
    more: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun anew, it would lack its first lines, and its row would tell of all."""
    monkeypatch.setattr(spool, "IN_MEMORY", 1)
    store = new_store()
    writer = open_on(store, create=True).writer(TAP, options=options(spool_folder=tmp_path))
    writer.write(schema_line())
    for number in range(PORTIONS):
        writer.write(record_line(number))
    until(lambda: any(tmp_path.glob("*/files/*")))
    (spilled,) = tmp_path.glob("*/files/*")
    spilled.unlink()
    with suppress(ConfigError):  # at the latest by the commit
        for number in range(PORTIONS if more else 0):
            writer.write(record_line(number))
    for _ in range(2):
        with pytest.raises(ConfigError, match="something removes or changes files there"):
            writer.commit()
    writer.close()
    assert objects_in(store, ".singer.gz") == []


def test_a_temporary_file_that_was_cut_while_it_waited_is_not_uploaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "IN_MEMORY", 1)

    def cut() -> None:
        (spilled,) = tmp_path.glob("*/files/*")
        os.truncate(spilled, spilled.stat().st_size - 1)

    store = new_store()
    hooked = Hooked(store, LOCK_CREATE, cut)
    writer = open_on(hooked, create=True).writer(TAP, options=options(spool_folder=tmp_path))
    writer.write(schema_line())
    writer.write(record_line(0))
    with pytest.raises(ConfigError, match="something removes or changes files there"):
        writer.commit()
    writer.close()
    assert objects_in(store, ".singer.gz") == []


def test_an_interrupt_while_a_file_waits_for_its_upload_stops_the_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file was open no more, and on its way not yet: it would be missing."""
    store = new_store()
    writer = open_on(store, create=True).writer(TAP, options=options(max_file_records=1))
    writer.write(schema_line())

    def interrupted() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        patches.setattr(writer._delivery._room, "acquire", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.write(record_line(0))
    with pytest.raises(KeyboardInterrupt):
        writer.commit()
    writer.close()
    assert objects_in(store, ".singer.gz") == []


def test_what_was_taken_can_be_read_from_deeper_in_the_stack() -> None:
    store = new_store()
    deepest = DEEPEST_LINE - len(["message", "record"])
    with open_on(store, create=True).writer(TAP, options=options()) as writer:
        writer.write(schema_line())
        for depth in (deepest, deepest + 1):
            nested = b"[" * depth + b"]" * depth
            line = record_line(depth).replace(b'"record": {', b'"record": {"x": %s, ' % nested)
            assert nested in line
            as_it_is = depth == deepest
            assert (writer.append_records(STREAM, line) is not None) is as_it_is
            for text in (line, line.replace(nested, nested[:depth] + b"NaN" + nested[depth:])):
                assert _is_taken(writer, text) is as_it_is

    def read(frames: int) -> int:
        if frames:
            return read(frames - 1)
        return len(list(open_on(store).stream(TAP, STREAM).snapshot().records()))

    assert read(350) == 3
    assert_clean(store)


@pytest.mark.parametrize("value", [b"1", b"NaN"], ids=["quick", "tolerant"])
@pytest.mark.parametrize("as_block", [False, True])
def test_the_longest_line_that_is_taken_can_be_read_with_its_time(
    value: bytes, as_block: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message, "LONGEST", 1000)
    line = b'{"type":"RECORD","stream":"%s","record":{"id":%s}}' % (STREAM.encode(), value)
    line = line.replace(b"{", b"{" + b" " * (1000 - len(line)), 1)
    store = new_store()
    with open_on(store, create=True).writer(TAP, options=options()) as writer:
        writer.write(schema_line())
        if not as_block or writer.append_records(STREAM, line) is None:
            writer.write(line)
        with pytest.raises(BadMessage, match="more than 1000 bytes"):
            writer.write(line + b" ")
    assert len(list(open_on(store).stream(TAP, STREAM).snapshot().records())) == 1
    assert_clean(store)
    store.delete(StreamKeys(TAP, STREAM).manifest)
    assert rebuild(store).records == 1


def _is_taken(writer: Writer, line: bytes) -> bool:
    try:
        return writer.write(line) is not None
    except BadMessage:
        return False
