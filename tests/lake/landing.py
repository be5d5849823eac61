"""Landing records in a lake, and looking at what is there: shared by the tests of the lake."""

from __future__ import annotations

import gzip
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any
from unittest import mock

from singerlake.format.keys import FileName, StreamKeys, file_path
from singerlake.format.manifest import File
from singerlake.format.message import decode_schema
from singerlake.lake import CheckReport, Lake, Level, LockTimes, WriterOptions, check, open_on
from singerlake.lake.naming import Name
from singerlake.store import MemoryStore, Store

TAP = "tap-test--tests"
STREAM = "orders"
KEYS = StreamKeys(TAP, STREAM)
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)

PATIENT = LockTimes(stale_after=60.0, refresh_every=20.0, max_wait=100.0, settle=0.01)
"""For tests in which no lock turns stale, and nobody gives up."""

QUICK = LockTimes(stale_after=0.05, refresh_every=30.0, max_wait=30.0, settle=0.01)
"""For tests in which the other writer is dead for certain."""


def new_store() -> MemoryStore:
    return MemoryStore(f"test-{uuid.uuid4().hex}")


def copy_of(store: Store) -> MemoryStore:
    """Another store with the same objects."""
    copy = new_store()
    for row in store.list(""):
        copy.create(row.key, store.read(row.key).data)
    return copy


@contextmanager
def older_names() -> Iterator[None]:
    """As Singerlake once named files, where the name is free: by their times alone."""

    def path(name: Name, checksum: str) -> str:
        return file_path(name.schema_hash, FileName(name.stream, name.first, name.last))

    with mock.patch.object(Name, "path", path):
        yield


def schema_line(stream: str = STREAM, version: int = 1) -> bytes:
    """A SCHEMA message; every version has a schema, and so a hash, of its own."""
    properties = {"id": {"type": "integer"}, f"added_in_{version}": {"type": "string"}}
    message = {
        "type": "SCHEMA",
        "stream": stream,
        "schema": {"type": "object", "properties": properties},
        "key_properties": ["id"],
    }
    return json.dumps(message).encode()


def schema_hash(stream: str = STREAM, version: int = 1) -> str:
    return decode_schema(schema_line(stream, version)).hash()


def lock_key(stream: str = STREAM, version: int = 1) -> str:
    return StreamKeys(TAP, stream).lock(schema_hash(stream, version))


def time_of(number: int) -> datetime:
    return EPOCH + timedelta(seconds=number)


def record_line(number: int, stream: str = STREAM) -> bytes:
    """A RECORD message whose time follows from its number."""
    moment = time_of(number).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    message = {
        "type": "RECORD",
        "stream": stream,
        "record": {"id": number},
        "time_extracted": moment,
    }
    return json.dumps(message).encode()


def options(times: LockTimes = PATIENT, **others: Any) -> WriterOptions:
    return WriterOptions(lock=times, **others)


def land(
    store: Store,
    numbers: Iterable[int],
    stream: str = STREAM,
    version: int = 1,
    times: LockTimes = PATIENT,
) -> tuple[File, ...]:
    """One commit of these records by a writer of its own, which makes the lake if need be."""
    lake = open_on(store, create=True)
    with lake.writer(TAP, options=options(times)) as writer:
        writer.write(schema_line(stream, version))
        for number in numbers:
            writer.write(record_line(number, stream))
        return writer.commit()


def land_each(
    store: Store,
    numbers: Iterable[int],
    stream: str = STREAM,
    version: int = 1,
    times: LockTimes = PATIENT,
) -> None:
    """A commit for each record, all by one writer."""
    lake = open_on(store, create=True)
    with lake.writer(TAP, options=options(times)) as writer:
        for number in numbers:
            writer.write(schema_line(stream, version))
            writer.write(record_line(number, stream))
            writer.commit()


def numbers_in(store: Store, stream: str = STREAM) -> list[int]:
    """The records of a stream in commit order, by their numbers."""
    return [record["id"] for record in Lake(store).stream(TAP, stream).snapshot().records()]


def files_in(store: Store, stream: str = STREAM) -> list[File]:
    return list(Lake(store).stream(TAP, stream).snapshot().files())


def paths_in(store: Store, stream: str = STREAM) -> list[str]:
    return [file.path for file in files_in(store, stream)]


def objects_in(store: Store, ending: str = "") -> list[str]:
    return [row.key for row in store.list("") if row.key.endswith(ending)]


def codes(report: CheckReport, *levels: Level) -> list[str]:
    """The codes of the findings, sorted; of errors and leftovers unless told otherwise."""
    wanted = levels or (Level.ERROR, Level.LEFTOVER)
    return sorted(finding.code for finding in report.findings if finding.level in wanted)


def assert_clean(store: Store, times: LockTimes = QUICK) -> None:
    report = check(store, times=times)
    assert report.clean, report.findings


def assert_once_each(store: Store, count: int, stream: str = STREAM) -> None:
    """Commits of one record each, numbered from 0: all there, once, numbered without a gap."""
    files = files_in(store, stream)
    assert [file.sequence for file in files] == list(range(1, count + 1))
    assert sorted(numbers_in(store, stream)) == list(range(count))
    assert len({file.path for file in files}) == count


def singer_file(lines: Sequence[bytes]) -> bytes:
    return gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0)


def put_file(
    store: Store,
    lines: Sequence[bytes],
    numbers: Sequence[int],
    stream: str = STREAM,
    version: int = 1,
    suffix: str = "",
) -> str:
    """Lay a Singer file into the lake by hand; returns its path below the stream's folder."""
    name = FileName(stream, time_of(min(numbers)), time_of(max(numbers)), suffix)
    path = file_path(schema_hash(stream, version), name)
    store.create(StreamKeys(TAP, stream).under(path), singer_file(lines))
    return path


def put_orphan(store: Store, number: int, stream: str = STREAM, version: int = 1) -> str:
    """A whole file of one record that no manifest names, as a crash leaves it."""
    lines = [schema_line(stream, version), record_line(number, stream)]
    return put_file(store, lines, [number], stream, version)


def edit(store: Store, key: str, change: Callable[[Any], object]) -> None:
    """Change a JSON document by hand."""
    stored = store.read(key)
    body = json.loads(stored.data)
    change(body)
    store.replace(key, json.dumps(body).encode(), stored.version)


def overwrite(store: Store, key: str, data: bytes) -> None:
    store.delete(key)
    store.create(key, data)
