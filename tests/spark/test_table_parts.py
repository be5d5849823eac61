"""The tables as a query reads them, batch by batch, without Spark: each row comes once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable

from singerlake import rebuild
from singerlake.errors import MissingManifest, StaleBookmark, StaleSnapshot
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.lake import log, open_on
from singerlake.lake.feed.event import Committed, RunEnded
from singerlake.lake.purging import purge
from singerlake.lake.runs import marking
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.runtime import Runtime
from singerlake.spark.tables import part
from singerlake.spark.tables import stream as table_stream
from singerlake.spark.tables.columns import TABLES
from singerlake.store import Store, open_store
from tests.faults.scale import scaled
from tests.lake.landing import KEYS, PATIENT, STREAM, TAP, land, land_each, options
from tests.lake.landing import schema_line as schema_of
from tests.lake.merging import OPTIONS, overtake, purge_at_once
from tests.lake.running import Running, land_run
from tests.spark.table_query import Query, Row, table


def without(rows: list[Row], *columns: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three runs of one stream, of which one died, and a stream of another tap."""
    store = open_store(tmp_path)
    land_run(store, "first", [0, 1], [2])
    land_run(store, "second", [3], outcome="failed")
    land_run(store, "dead", [4], outcome=None)
    other = Running(store, "elsewhere", "items", tap="tap-other--tests")
    other.commit([7, 8], version=2)
    other.end()
    return tmp_path


def test_the_tables_are_the_feed(root: Path) -> None:
    events = list(open_on(open_store(root)).feed().poll())
    committed = [event for event in events if isinstance(event, Committed)]
    commits, files = table(root, "commits"), table(root, "files")
    expected = [(one.tap, one.stream, one.last_sequence, one.run_id) for one in committed]
    for rows in (commits, files):
        found = [(row["tap"], row["stream"], row["last_sequence"], row["run_id"]) for row in rows]
        assert sorted(found) == sorted(expected)
        assert {row["log_id"] for row in rows} == {one.bookmark.log_id for one in committed}
        assert Counter(row["records"] for row in rows) == Counter([2, 1, 1, 1, 2])
        assert Counter(row["committed"] for row in rows) == Counter(one.time for one in committed)
    for row in files:
        assert (root / row["file"]).stat().st_size == row["bytes"]
        assert row["schema_version"] == 1
        assert row["checksum"].startswith("sha256:")
    ended = {event.run_id: event for event in events if isinstance(event, RunEnded)}
    runs = {row["run_id"]: row for row in table(root, "runs")}
    assert {run: row["outcome"] for run, row in runs.items()} == {
        **{run: event.outcome for run, event in ended.items()},
        "dead": "open",  # it left commits and no document, a moment ago
    }
    assert runs["first"]["streams"][0]["last_sequence"] == 2
    assert (runs["first"]["records"], runs["first"]["files"]) == (3, 2)


def test_a_vacuum_and_a_purge_change_the_holder_alone(root: Path) -> None:
    before = {name: table(root, name) for name in TABLES}
    store = open_store(root)
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    assert table(root, "commits") == before["commits"]
    assert table(root, "runs") == before["runs"]
    after = table(root, "files")
    assert without(after, "file") == without(before["files"], "file")
    merged = {row["file"] for row in after if row["stream"] == STREAM}
    assert len(merged) == 1
    assert all((root / name).exists() for name in merged)


def test_a_commit_of_several_files_is_one_row(tmp_path: Path) -> None:
    lake = open_on(open_store(tmp_path), create=True)
    with lake.writer(TAP, "run", options(max_file_records=1)) as writer:
        for version in (1, 2):
            writer.write(schema_of(STREAM, version))
            for number in range(3):
                writer.write(
                    json.dumps(
                        {
                            "type": "RECORD",
                            "stream": STREAM,
                            "record": {"id": number},
                            "time_extracted": f"2026-01-0{version}T00:00:0{number}Z",
                        }
                    ).encode()
                )
    commits, files = table(tmp_path, "commits"), table(tmp_path, "files")
    assert sum(row["files"] for row in commits) == len(files)
    assert len(commits) == len({row["committed"] for row in files})
    assert [row["last_sequence"] for row in files] == list(range(1, len(files) + 1))
    assert {n for row in commits for n in row["schema_versions"]} == {1, 2}


def test_of_one_tap_and_one_stream(root: Path) -> None:
    assert {row["tap"] for row in table(root, "files", tap=TAP)} == {TAP}
    assert len(table(root, "commits", tap=TAP, stream=STREAM)) == 4
    assert {row["stream"] for row in table(root, "commits", stream="items")} == {"items"}
    assert {row["run_id"] for row in table(root, "runs", stream="items")} == {"elsewhere"}


def test_a_query_of_runs_gets_each_end_once_and_corrections_too(root: Path) -> None:
    query = Query(root, "runs")
    assert {row["run_id"] for row in query.batch()} == {"first", "second", "elsewhere"}
    assert query.batch() == []
    store = open_store(root)
    [failed] = [run for run in open_on(store).tap(TAP).runs() if run.run_id == "second"]
    marking.mark(store, TAP, failed.document, "complete", by="me", reason="looked at it")
    [row] = query.batch()
    assert (row["run_id"], row["outcome"], row["corrected"]) == ("second", "complete", True)
    land_run(store, "third", [9])
    assert [row["run_id"] for row in query.batch()] == ["third"]


@pytest.mark.parametrize("name", ["commits", "files"])
def test_a_log_that_is_numbered_anew_is_read_from_its_beginning(root: Path, name: str) -> None:
    query = Query(root, name, tap=TAP)
    old = {row["log_id"] for row in query.batch()}
    (root / KEYS.manifest).unlink()
    with pytest.raises(MissingManifest, match="singerlake rebuild"):
        query.batch()
    rebuild(open_store(root))
    rows = query.batch()
    assert (rows[0]["first_sequence"], rows[-1]["last_sequence"]) == (1, 4)
    assert not old & {row["log_id"] for row in rows}


def duplicates(query: Query) -> int:
    rows = Counter((row["log_id"], row["last_sequence"]) for row in query.rows)
    return sum(count - 1 for count in rows.values())


def read_while_a_manifest_comes_and_goes(root: Path) -> Query:
    query = Query(root, "commits", tap=TAP)
    land_each(open_store(root), [5, 6])
    query.batch()
    later = (root / KEYS.manifest).read_bytes()
    head = open_on(open_store(root)).stream(TAP, STREAM).snapshot()
    assert head.last_sequence == 6
    (root / KEYS.manifest).write_bytes(older_manifest(root, 4))
    with pytest.raises(StaleBookmark, match=r"6, and the .* 4"):
        query.batch()
    (root / KEYS.manifest).write_bytes(later)
    query.batch()
    return query


def older_manifest(root: Path, last: int) -> bytes:
    """The manifest as it was after so many commits."""
    manifest = log.read_head(open_store(root), KEYS).manifest
    files = tuple(file for file in manifest.files if file.sequence <= last)
    return manifests.encode(msgspec.structs.replace(manifest, files=files, last_sequence=last))


def test_an_older_manifest_stops_the_query_and_gives_no_row_twice(root: Path) -> None:
    query = read_while_a_manifest_comes_and_goes(root)
    assert duplicates(query) == 0
    assert len(query.rows) == 6


def test_control_a_query_that_follows_the_ends_alone_is_seen(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_stream, "_after", lambda read, ends: dict(ends))
    assert duplicates(read_while_a_manifest_comes_and_goes(root)) == 2


def test_a_query_that_goes_on_asks_now_and_then(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark asks all the time."""
    seconds = 0.0
    monkeypatch.setattr(Runtime, "monotonic", lambda self: seconds)
    query = Query(root, "commits")
    reader, limit = query.reader(), ReadAllAvailable()
    start = reader.latestOffset(reader.initialOffset(), limit)
    land(open_store(root), [9])
    seconds = 4.0  # a document is asked for every five seconds
    assert reader.latestOffset(start, limit) is start
    seconds = 100.0
    end = reader.latestOffset(start, limit)
    [row] = query.between(start, end)
    assert (row["stream"], row["last_sequence"]) == (STREAM, 5)


def test_a_name_that_no_column_can_hold_hides_no_other(root: Path) -> None:
    land(open_store(root), [1, 2], "half \ud800")
    for name in ("commits", "files"):
        query = Query(root, name)
        assert "half ?" in {row["stream"] for row in query.batch()}
        assert query.batch() == []
        assert len(table(root, name)) == len(query.rows) == 6


def test_a_reader_whom_a_purge_overtakes_goes_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(root)
    land_each(store, [5, 6])
    vacuum(store, KEYS, OPTIONS)
    whole = table(root, "commits", tap=TAP)
    taken = overtake(monkeypatch, store, times=2)
    assert table(root, "commits", tap=TAP) == whole
    assert len(taken) == 3


def test_control_a_reader_that_does_not_go_on_is_seen(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(root)
    vacuum(store, KEYS, OPTIONS)
    monkeypatch.setattr(part, "ATTEMPTS", 1)
    overtake(monkeypatch, store, times=1)
    with pytest.raises(StaleSnapshot):
        table(root, "commits", tap=TAP)


Step = Callable[[Store], object]

STEPS: dict[str, Step] = {
    "land": lambda store: land(store, [1]),
    "land two files": lambda store: land_each(store, [1, 2]),
    "land elsewhere": lambda store: land(store, [3], "items"),
    "another version": lambda store: land(store, [4], version=2),
    "vacuum": lambda store: [
        vacuum(store, StreamKeys(TAP, name), VacuumOptions(lock=PATIENT))
        for name in open_on(store).tap(TAP).catalogue()
    ],
    "purge": lambda store: [
        purge(store, StreamKeys(TAP, name), timedelta(0), abandoned=timedelta(0))
        for name in open_on(store).tap(TAP).catalogue()
    ],
}


@pytest.mark.timeout(scaled(300, 3600))
@settings(max_examples=scaled(15, 1000), deadline=None)
@given(steps=st.lists(st.sampled_from([*STEPS, "batch"]), max_size=12))
def test_random_histories_read_in_batches_are_the_whole_table(
    steps: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("lake")
    store = open_store(root)
    land(store, [0])
    queries = [Query(root, "commits"), Query(root, "files")]
    for step in [*steps, "batch"]:
        if step == "batch":
            for query in queries:
                query.batch()
        else:
            STEPS[step](store)
    for query in queries:
        whole = table(root, query.options.table)
        found = without(query.rows, "file")
        assert sorted(map(str, found)) == sorted(map(str, without(whole, "file")))
