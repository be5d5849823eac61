"""Offsets of a streaming query are bookmarks: stable, and refused where they are stale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

from singerlake import open_lake
from singerlake.errors import StaleBookmark
from singerlake.format.keys import StreamKeys
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.spark.source import SingerlakeSource
from singerlake.spark.stream_source import LakeStreamReader
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line
from tests.spark.querying import Sink, fails, land_ids

EVERYTHING = ReadAllAvailable()
KEYS = StreamKeys(TAP, STREAM)


def commit(root: Path, *ids: int) -> None:
    for number in ids:
        land(root, [schema_line({"id": {"type": "integer"}}), record_line({"id": number})])


def merge(root: Path) -> None:
    vacuum(open_lake(root).store, KEYS, VacuumOptions())


def checks(root: Path) -> list[str]:
    return [file.check for file in open_lake(root).stream(TAP, STREAM).snapshot().files()]


def reader(root: Path, **options: Any) -> LakeStreamReader:
    given = {"path": str(root), "tap": TAP, "stream": STREAM}
    source = SingerlakeSource(given | {name: str(value) for name, value in options.items()})
    made = source.streamReader(source.schema())
    assert isinstance(made, LakeStreamReader)
    return made


def sequences(reader: LakeStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[int]:
    """The numbers that the partitions between two offsets hold, a merged file's last."""
    found = reader.partitions(start, end)
    return sorted(file.sequence for part in found for file in part.files)  # type: ignore[attr-defined]


def test_an_offset_is_a_bookmark(tmp_path: Path) -> None:
    commit(tmp_path, 1, 2, 3)
    log_id = open_lake(tmp_path).stream(TAP, STREAM).snapshot().log_id
    query = reader(tmp_path)
    start = query.initialOffset()
    end = query.latestOffset(start, EVERYTHING)
    assert start == {"log_id": log_id, "sequence": 0}
    assert end == {"log_id": log_id, "sequence": 3, "check": checks(tmp_path)[2]}
    assert end == query.reportLatestOffset()
    assert sequences(query, start, end) == [1, 2, 3]
    assert reader(tmp_path, since=2).initialOffset()["check"] == checks(tmp_path)[1]


@pytest.mark.parametrize("since", [{}, {"since": 1}], ids=str)
def test_the_same_place_is_the_same_offset_before_and_after_a_vacuum(
    tmp_path: Path, since: dict[str, int]
) -> None:
    """Another one would be an empty micro-batch."""
    commit(tmp_path, 1, 2, 3)
    query = reader(tmp_path, **since)
    start = query.initialOffset()
    first = query.latestOffset(start, ReadMaxFiles(1))
    end = query.latestOffset(start, EVERYTHING)
    merge(tmp_path)
    assert query.initialOffset() == start
    assert query.latestOffset(start, EVERYTHING) == end
    assert query.latestOffset(end, EVERYTHING) is end
    assert query.reportLatestOffset() == end
    assert reader(tmp_path, until=2).latestOffset(start, EVERYTHING)["sequence"] == 2
    assert query.latestOffset(first, EVERYTHING) == end


def test_where_nothing_is_new_spark_gets_its_own_offset_back(tmp_path: Path) -> None:
    commit(tmp_path, 1, 2)
    query = reader(tmp_path)
    before = {"sequence": 2, "log_id": query.initialOffset()["log_id"]}
    assert query.latestOffset(before, EVERYTHING) is before
    assert reader(tmp_path, until=2).latestOffset(before, EVERYTHING) is before
    assert reader(tmp_path, until=1).latestOffset(before, EVERYTHING) is before
    assert query.partitions(before, before) == []


def test_bounds_end_at_a_file(tmp_path: Path) -> None:
    commit(tmp_path, 1, 2, 3, 4)
    query = reader(tmp_path, maxFilesPerTrigger=3)
    start = query.initialOffset()
    end = query.latestOffset(start, ReadMaxFiles(3))
    assert (end["sequence"], end["check"]) == (3, checks(tmp_path)[2])
    merge(tmp_path)
    assert query.latestOffset(end, ReadMaxFiles(3))["sequence"] == 4
    assert query.latestOffset(start, ReadMaxFiles(3))["sequence"] == 4


def test_offsets_of_an_old_lake_go_on_exactly() -> None:
    """Its first rows are merged files without digits: an offset may be at their end, or within."""
    old = Path(__file__).parent.parent / "lakes" / "v1"
    query = reader(old, tap="tap-shop--sample", stream="orders")
    end = query.latestOffset(query.initialOffset(), EVERYTHING)
    rows = [4, 8, 12, *range(13, 21)]
    assert end["sequence"] == 20
    for number in range(21):
        start = {"log_id": end["log_id"], "sequence": number}
        assert query.latestOffset(start, EVERYTHING) == (start if number == 20 else end)
        assert sequences(query, start, end) == [row for row in rows if row > number]


def test_a_manifest_that_was_put_back_is_noticed(tmp_path: Path) -> None:
    commit(tmp_path, 1)
    manifest = tmp_path / KEYS.manifest
    backup = manifest.read_bytes()
    commit(tmp_path, 2)
    query = reader(tmp_path)
    start = query.initialOffset()
    end = query.latestOffset(start, EVERYTHING)
    manifest.write_bytes(backup)
    commit(tmp_path, 3, 4)
    for look in (
        lambda: query.latestOffset(end, EVERYTHING),
        lambda: query.partitions(start, end),
        lambda: query.partitions(end, {**end, "sequence": 3, "check": ""}),
    ):
        with pytest.raises(StaleBookmark, match="an older manifest was put back"):
            look()


def aged(checkpoint: Path) -> list[dict[str, Any]]:
    """Give the offsets of a checkpoint the form that they had before there was `check`."""
    offsets = []
    for path in sorted((checkpoint / "offsets").glob("[0-9]*")):
        version, about, offset = path.read_text().splitlines()
        body = json.loads(offset)
        assert body.pop("check")
        path.write_text(f"{version}\n{about}\n{json.dumps(body)}")
        # Spark's own checksum of the file that we have just changed.
        (path.parent / f".{path.name}.crc").unlink()
        offsets.append(body)
    return offsets


def test_a_checkpoint_from_before_resumes_exactly(sink: Sink) -> None:
    land_ids(sink, 1, 2, 3)
    sink.run()
    (offset,) = aged(sink.checkpoint)
    assert set(offset) == {"log_id", "sequence"}
    sink.run()
    assert len(list((sink.checkpoint / "offsets").glob("[0-9]*"))) == 1
    land_ids(sink, 4)
    merge(sink.root)
    sink.run()
    assert sink.ids == [1, 2, 3, 4]
    assert sorted(sink.batches.values()) == [[1, 2, 3], [4]]


def test_a_batch_that_was_planned_before_is_read_again(sink: Sink) -> None:
    """The query died within its batch: the checkpoint has the offset, and no commit of it."""
    land_ids(sink, 1, 2)
    sink.run()
    aged(sink.checkpoint)
    for path in (sink.checkpoint / "commits").iterdir():
        path.unlink()
    sink.batches.clear()
    land_ids(sink, 3)
    sink.run()
    assert sorted(map(sorted, sink.batches.values())) == [[1, 2], [3]]


def test_a_query_stops_where_a_manifest_was_put_back(sink: Sink) -> None:
    land_ids(sink, 1)
    manifest = sink.root / KEYS.manifest
    backup = manifest.read_bytes()
    land_ids(sink, 2)
    sink.run()
    manifest.write_bytes(backup)
    land_ids(sink, 3, 4)
    fails(sink, "an older manifest was put back")
    assert sink.ids == [1, 2]
