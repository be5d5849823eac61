"""What our Spark source does before it reads: which files it opens, and how long it plans."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks import pipe, streams
from benchmarks.result import Cell, Goal, Table
from benchmarks.timing import Samples
from singerlake.format import compression, times
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import registry
from singerlake.spark import read_stream
from singerlake.spark.read import PUSHDOWN
from singerlake.store import Store, open_store

HOUR = timedelta(hours=1)
MINUTELY, MANY = 10_000, 100_000
LONGEST_PLAN = 5.0
ROUNDS = 3


def opened(spark: SparkSession) -> tuple[Table, list[Goal]]:
    """A stream with a file a minute, of which only those of the last hour are there."""
    root, stream, begin = Path(pipe.folder().name, "minutely"), "minutely", streams.END - HOUR
    store = open_store(root)
    _register(store, stream)
    made = streams.entries(stream, MINUTELY, timedelta(minutes=MINUTELY))
    recent = [_write(store, stream, file) for file in made if file.last >= begin]
    streams.make_of(store, stream, (*made[: -len(recent)], *recent))
    columns = ["_file", "_time_extracted"]
    spark.conf.set(PUSHDOWN, "true")
    read = partial(read_stream, spark, root, streams.TAP, stream, metadata=columns)
    samples = Samples()
    rows: list[list[Cell]] = []
    goals = []
    hows: dict[str, Callable[[], DataFrame]] = {
        "filter on _time_extracted": lambda: read(pushFilters=True).where(
            f.col("_time_extracted") >= f.lit(begin)
        ),
        "option start": lambda: read(start=begin),
    }
    for how, frame in hows.items():
        for _ in range(ROUNDS):
            found = samples.time(how, partial(_files, frame))
        rows.append([how, MINUTELY, len(recent), found, samples.best(how)])
        if found < len(recent):
            raise AssertionError(f"{how}: rows of {found} files, expected {len(recent)}")
        goals.append(Goal(f"{how}: files opened for the last hour", found, len(recent)))
    headings = ("the last hour", "files", "in that hour", "opened", "seconds")
    title = "Files opened (a read that opens another one fails: they are not there)"
    return Table(title, headings, rows), goals


def _files(frame: Callable[[], DataFrame]) -> int:
    """From how many files there are rows. A file that is opened and not there fails this."""
    return frame().select("_file").distinct().count()


def planning(spark: SparkSession) -> tuple[Table, list[Goal]]:
    """From the address to the partitions that Spark will run."""
    root = Path(pipe.folder().name, "many")
    store = open_store(root)
    samples = Samples()
    rows: list[list[Cell]] = []
    for count in (10, 1_000, MANY):
        stream = f"orders_{count}"
        _register(store, stream)
        streams.make(store, stream, count)
        for _ in range(ROUNDS):
            partitions = samples.time(count, partial(_partitions, spark, root, stream))
        rows.append(["all files", count, partitions, samples.best(count)])
    columns = ("plan", "files", "partitions", "seconds")
    goal = Goal(f"planning {MANY:,} files, seconds", samples.best(MANY), LONGEST_PLAN)
    return Table("Planning on the driver", columns, rows), [goal]


def _partitions(spark: SparkSession, root: Path, stream: str) -> int:
    return read_stream(spark, root, streams.TAP, stream).rdd.getNumPartitions()


def _register(store: Store, stream: str) -> None:
    """In the catalogue, so that no file has to be opened for its schema."""
    entry = {
        "tap_stream_id": stream,
        "stream": stream,
        "schema": dict(streams.SCHEMA.schema),
        "key_properties": list(streams.SCHEMA.key_properties),
    }
    registry.register_taps(store, [streams.TAP])
    registry.register_streams(store, streams.TAP, {stream: entry})


def _write(store: Store, stream: str, file: File) -> File:
    """Write the file, with two records in it."""
    schema, keys = dict(streams.SCHEMA.schema), list(streams.SCHEMA.key_properties)
    lines = [{"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": keys}]
    for number, moment in enumerate((file.first, file.last)):
        record = {"id": number, "name": "somebody"}
        at = times.rfc3339(moment)
        lines.append({"type": "RECORD", "stream": stream, "record": record, "time_extracted": at})
    raw = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    data = compression.member(raw)
    store.create(StreamKeys(streams.TAP, stream).under(file.path), data)
    return msgspec.structs.replace(
        file,
        records=2,
        bytes=len(data),
        raw_bytes=len(raw),
        checksum=f"sha256:{hashlib.sha256(data).hexdigest()}",
    )
