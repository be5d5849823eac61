"""What the processes do: each is the product's own code, given a store."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache, partial
from pathlib import Path

from singerlake.errors import DamageError, SingerlakeError, Unavailable
from singerlake.format import block, catalogue, compression, message
from singerlake.format.block import Summary
from singerlake.format.manifest import File
from singerlake.format.origin import Origin
from singerlake.lake import (
    Bookmark,
    Lake,
    LockTimes,
    check,
    commit,
    lock,
    naming,
    open_on,
    rebuild,
    registration,
    upload,
    uploads,
)
from singerlake.lake.naming import Content, Name
from singerlake.lake.purging import GRACE, purge
from singerlake.lake.spool import Spool, Spooled
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Retrying, RetryPolicy
from tests.faults.process import Body, Process
from tests.faults.truth import Truth, Violation
from tests.faults.world import in_order
from tests.lake.landing import EPOCH, KEYS, STREAM, TAP, options, record_line, schema_line, time_of

TIMES = LockTimes(stale_after=1.0, refresh_every=0.25, max_wait=300.0, settle=0.0)
"""In a world where each wait takes a second: a lock is stale at the second look."""

ALL = VacuumOptions(lock=TIMES)
SMALL = VacuumOptions(target_bytes=700, lock=TIMES)
"""Two or three of these small files make a whole one."""

OTHER = "customers"
OF_OTHER = range(500, 1000)
"""The numbers of records in another stream."""

Work = Callable[[Truth], Body]


def landing(
    numbers: Sequence[int],
    version: int = 1,
    *,
    new: bool = False,
    at: int | None = None,
    early: bool = False,
    retrying: bool = False,
) -> Work:
    """One commit of these records, step by step as `Writer` does it on an upload thread.

    Where they are all of one moment, `at`, two landings choose the same name. `early` is what
    nobody must do: the STATE goes out before the commit.
    """

    def of(truth: Truth) -> Body:
        def body(process: Process) -> None:
            truth.send(numbers)
            store, writer_id = process.store, process.name
            if retrying:
                store = Retrying(store, RetryPolicy(attempts=2), sleep=lambda _: None)
            if new:
                schema = message.decode_schema(schema_line(version=version))
                entries = {STREAM: catalogue.entry(STREAM, schema)}
                registration.register(store, TAP, entries, None)
            head = commit.open_log(store, KEYS, writer_id)
            spooled = finished(tuple(numbers), version, writer_id, at)
            if early:
                process.acknowledge(lambda: truth.acknowledge(numbers))
            upload.land(store, KEYS, head, spooled, writer_id, "run", TIMES)
            if not early:
                process.acknowledge(lambda: truth.acknowledge(numbers))

        return body

    return of


@cache
def finished(numbers: tuple[int, ...], version: int, writer_id: str, at: int | None) -> Spooled:
    """A file as the writer has it when it is closed."""
    line, origin = schema_line(version=version), Origin(writer_id, "run", 1)
    schema = message.decode_schema(line)
    spool = Spool(Path("never spilled"), compression.DEFAULT, line + b"\n", origin)
    summary = Summary()
    for number in numbers:
        record = record_line(number)
        if at is not None:
            own, common = (f"{time_of(each):%Y-%m-%dT%H:%M:%S}" for each in (number, at))
            record = record.replace(own.encode(), common.encode())
        spool.add(record + b"\n")
        summary += block.of_line(message.decode(record))
    return Spooled(
        stream=STREAM,
        schema=schema,
        schema_hash=schema.hash(),
        summary=summary,
        opened=EPOCH,
        data=spool.finish(),
        bytes=spool.bytes,
        raw_bytes=spool.raw_bytes,
        checksum=spool.checksum,
    )


def writing(
    *batches: Sequence[int], versions: Mapping[int, int] | None = None, early: bool = False
) -> Work:
    """The whole `Writer`, from the lake document on: a commit, and then a STATE, for each batch.

    What was acknowledged is not sent again when it is started anew, as a tap does not.
    `versions` has the schema version of a record's number, where it is not 1; for `early`, see
    `landing`.
    """

    def of(truth: Truth) -> Body:
        def body(process: Process) -> None:
            left = [batch for batch in batches if not truth.acknowledged.issuperset(batch)]
            lake = open_on(process.store, create=True)
            writer = lake.writer(TAP, options=options(TIMES, uploads=1))
            try:
                for batch in left:
                    truth.send(batch)
                    for number in batch:
                        stream = OTHER if number in OF_OTHER else STREAM
                        writer.write(schema_line(stream, (versions or {}).get(number, 1)))
                        writer.write(record_line(number, stream))
                    tell = partial(truth.acknowledge, batch)
                    if early:
                        process.acknowledge(tell)
                    writer.commit()
                    if not early:
                        process.acknowledge(tell)
            finally:
                writer.close()

        return body

    return of


def saving(*tasks: Sequence[int], fails: bool = False) -> Work:
    """A write by Spark, without Spark: each task uploads a file, and one commit names them all.

    Of the first task there is a speculative attempt too, for which nobody waits. Its rows come in
    another order, so it is another file. An attempt that fails is made again, once, and is the same
    file. Where the job `fails`, or its commit does, all is withdrawn.
    """
    numbers = [number for task in tasks for number in task]

    def of(truth: Truth) -> Body:
        def body(process: Process) -> None:
            if truth.acknowledged.issuperset(numbers):
                return
            truth.send(numbers)
            store, job, writer_id = process.store, uploads.new_job(), process.name
            manifest = commit.open_log(store, KEYS, writer_id).manifest
            since = Bookmark(manifest.log_id, manifest.last_sequence)
            try:
                files = [_uploaded(process, job, task) for task in tasks]
                with contextlib.suppress(SingerlakeError):
                    _upload(process, job, tasks[0][::-1])
                if fails:
                    raise Unavailable("a task has failed")
                schema = message.decode_schema(schema_line())
                digests = {schema.hash(): schema.digest()}
                with lock.held(store, KEYS.lock(schema.hash()), writer_id, TIMES):
                    uploads.commit_job(store, KEYS, job, files, digests, since, writer_id, TIMES)
            except SingerlakeError:
                with contextlib.suppress(SingerlakeError):
                    uploads.withdraw(store, KEYS, [job], writer_id, TIMES)
                if fails:
                    return
                raise
            with contextlib.suppress(SingerlakeError):
                uploads.clear(store, KEYS, job, {file.path for file in files}, since)
            process.acknowledge(lambda: truth.acknowledge(numbers))

        return body

    return of


def _uploaded(process: Process, job: str, task: Sequence[int]) -> File:
    try:
        return _upload(process, job, task)
    except SingerlakeError:
        return _upload(process, job, task)


def _upload(process: Process, job: str, task: Sequence[int]) -> File:
    spooled = finished(tuple(task), 1, process.name, None)
    first, last = time_of(min(task)), time_of(max(task))
    name = Name(STREAM, spooled.schema_hash, first, last)
    path = name.path(spooled.checksum)
    uploads.note(process.store, KEYS, job, path, process.name, "run")
    content = Content(spooled.data, spooled.checksum, spooled.bytes)
    naming.create(process.store, KEYS, name, content)
    return File(
        path=path,
        sequence=0,
        records=len(task),
        bytes=spooled.bytes,
        raw_bytes=spooled.raw_bytes,
        first=first,
        last=last,
        checksum=spooled.checksum,
        writer_id=process.name,
        run_id="run",
        committed=EPOCH,
    )


def vacuuming(wanted: VacuumOptions = ALL) -> Work:
    return _plain(lambda process: vacuum(process.store, KEYS, wanted, run=in_order))


def purging(abandoned: timedelta = GRACE) -> Work:
    """At once, also what a snapshot may still need; of merges that never were, what is old."""
    now = timedelta(0)
    return _plain(lambda process: purge(process.store, KEYS, now, abandoned=abandoned))


def rebuilding() -> Work:
    return _plain(lambda process: rebuild(process.store))


def fixing() -> Work:
    return _plain(lambda process: check(process.store, fix=True, times=TIMES))


def reading(*, purged: bool = False) -> Work:
    """Take a snapshot, and read it to its end: all that was acknowledged before, each once.

    Where others purge without grace, a file may be gone, and the reader begins again.
    """

    def of(truth: Truth) -> Body:
        def body(process: Process) -> None:
            before = set(truth.acknowledged)
            try:
                snapshot = Lake(process.store).stream(TAP, STREAM).snapshot()
                there = [record["id"] for record in snapshot.records()]
            except DamageError as error:
                if purged:
                    raise
                raise Violation(f"TORN to a reader: {error}") from error
            if lost := before - set(there):
                raise Violation(f"LOST {sorted(lost)} to a reader")
            truth.require([*there, *truth.acknowledged - set(there)])

        return body

    return of


def in_turn(*works: Work) -> Work:
    """One process that does one thing after the other."""

    def of(truth: Truth) -> Body:
        bodies = [work(truth) for work in works]

        def body(process: Process) -> None:
            for each in bodies:
                each(process)

        return body

    return of


def _plain(work: Callable[[Process], object]) -> Work:
    def body(process: Process) -> None:
        work(process)

    return lambda truth: body
