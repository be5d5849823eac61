"""The stream as a Spark streaming source: each record once, in bounded batches."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from singerlake import open_lake
from singerlake.format.keys import StreamKeys
from singerlake.lake import rebuild
from singerlake.lake.vacuum import VacuumOptions, vacuum
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line
from tests.spark.querying import SCHEMA, Sink, fails, land_ids
from tests.target.driving import started, state


def test_each_run_reads_what_is_new(sink: Sink) -> None:
    land_ids(sink, 1, 2, 3)
    sink.run()
    assert (sink.ids, len(sink.batches)) == ([1, 2, 3], 1)
    land_ids(sink, 4)
    sink.run()
    sink.run()
    assert sink.ids == [1, 2, 3, 4]


def test_batches_are_bounded(sink: Sink) -> None:
    land_ids(sink, 1, 2, 3, 4, 5)
    sink.run(maxFilesPerTrigger=2)
    assert [sorted(batch) for batch in sink.batches.values()] == [[1, 2], [3, 4], [5]]
    land_ids(sink, 6, 7)
    sink.run(maxBytesPerTrigger=1)
    assert list(sink.batches.values())[3:] == [[6], [7]]


def test_a_merge_between_runs_gives_no_record_twice(sink: Sink) -> None:
    land_ids(sink, 1, 2, 3)
    sink.run(maxFilesPerTrigger=10)
    land_ids(sink, 4, 5)
    vacuum(open_lake(sink.root).store, StreamKeys(TAP, STREAM), VacuumOptions())
    assert len(list(open_lake(sink.root).stream(TAP, STREAM).snapshot().files())) == 1
    sink.run()
    assert sink.ids == [1, 2, 3, 4, 5]


def test_a_renumbered_log_is_an_error(sink: Sink) -> None:
    land_ids(sink, 1)
    sink.run()
    (sink.root / "raw" / TAP / STREAM / "manifest.json").unlink()
    rebuild(open_lake(sink.root).store)
    land_ids(sink, 2)
    fails(sink, "belongs to another log")


def test_a_stream_without_a_manifest_is_an_error(sink: Sink) -> None:
    """By listing there are numbers too, but the next listing may give others."""
    land_ids(sink, 1)
    (sink.root / "raw" / TAP / STREAM / "manifest.json").unlink()
    fails(sink, "singerlake rebuild")
    assert sink.ids == []


def test_a_stream_that_begins_after_the_query_is_read_whole(sink: Sink) -> None:
    land(sink.root, [SCHEMA])
    sink.run()
    land_ids(sink, 1, 2)
    sink.run()
    assert sink.ids == [1, 2]


def test_a_beginning_past_the_end_is_an_error(sink: Sink) -> None:
    land_ids(sink, 1)
    fails(sink, "since is 9, and the last commit of stream .* is 1", since=9)


def test_a_new_schema_version_asks_for_a_restart(sink: Sink) -> None:
    land_ids(sink, 1)
    query = sink.start(available_now=False)
    try:
        wait_for(lambda: sink.ids == [1], query)
        wider = schema_line({"id": {"type": "integer"}, "x": {"type": "string"}})
        land(sink.root, [wider, record_line({"id": 2, "x": "y"})])
        with pytest.raises(StreamingQueryException, match="restart the query"):
            query.awaitTermination(60)
    finally:
        query.stop()
    sink.run()
    assert sink.ids == [1, 2]


def test_the_latest_version_may_be_an_old_one_that_came_back(sink: Sink) -> None:
    wider = schema_line({"id": {"type": "integer"}, "x": {"type": "string"}})
    land_ids(sink, 1)
    land(sink.root, [wider, record_line({"id": 2, "x": "y"})])
    land_ids(sink, 3)
    sink.run(schemaVersions="latest")
    assert sink.ids == [1, 3]


def wait_for(condition: Any, query: StreamingQuery, seconds: float = 250) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if not query.isActive:
            raise AssertionError(query.exception())
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.mark.slow
def test_two_targets_and_a_restart(sink: Sink) -> None:
    """Two hundred commits by two targets; a query that is stopped and started in between."""
    land_ids(sink, 0)
    settings = {"tap_id": TAP, "max_file_records": 1, "commit_interval_seconds": 0}
    with started(sink.root, **settings) as one, started(sink.root, **settings) as other:
        query = sink.start(available_now=False, maxFilesPerTrigger=20)
        for target in (one, other):
            target.send(SCHEMA)
        landed = {one: -1, other: 0}
        for number in range(1, 201, 2):
            # Both at once. A record is sent when the one before the last is committed, whose state
            # comes out at the latest when the last has come: so each record has its own commit.
            for target, id_ in ((one, number), (other, number + 1)):
                target.send(record_line({"id": id_}), state(id_))
                while landed[target] < id_ - 2:
                    landed[target] = int(target.next_state())
            if number == 101:
                wait_for(lambda: len(sink.ids) > 50, query)
                query.stop()
                query = sink.start(available_now=False, maxFilesPerTrigger=20)
        assert [target.end().code for target in (one, other)] == [0, 0]
    wait_for(lambda: len(sink.ids) >= 201, query)
    query.stop()
    assert sink.ids == list(range(201))
    files = open_lake(sink.root).stream(TAP, STREAM).snapshot().files()
    assert len({(file.writer_id, file.committed) for file in files}) == 201
