"""The writer as Spark calls it, without Spark: faults, others at work, and what it costs."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark_types

from singerlake.errors import (
    BadMessage,
    CommitConflict,
    ConfigError,
    OutcomeUnknown,
    ReadOnly,
    SingerlakeError,
)
from singerlake.format.keys import StreamKeys
from singerlake.lake import check, open_on, uploads
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.spark import encode, write
from singerlake.spark.task_files import Uploaded, WriteOptions, write_options
from singerlake.spark.write import LakeWriter
from singerlake.store import Counting, MemoryStore, Store
from tests.lake.faulty_store import (
    CATALOGUE_REPLACE,
    LOCK_DELETE,
    MANIFEST_REPLACE,
    UPLOAD,
    At,
    BestEffort,
    Gate,
    Intercepting,
    LosingAnswers,
    Lost,
    Pausing,
)
from tests.lake.landing import QUICK, codes, new_store, objects_in
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line

KEYS = StreamKeys(TAP, STREAM)
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
LATER = datetime(2100, 1, 1, tzinfo=timezone.utc)
SCHEMA = spark_types.StructType(
    [
        spark_types.StructField("id", spark_types.LongType()),
        spark_types.StructField("_time_extracted", spark_types.TimestampType()),
    ]
)


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "STOPPING", 0.0)


@pytest.fixture
def store() -> MemoryStore:
    return new_store()


class Options(WriteOptions):
    """Options that lead to a store of the test's."""

    used: Store

    def store(self) -> Store:
        return self.used


def writer(store: Store, schema: spark_types.StructType = SCHEMA) -> LakeWriter:
    options = Options("memory", TAP, STREAM, ("id",), "run")
    object.__setattr__(options, "used", store)
    return LakeWriter(options, schema, overwrite=False)


def use(made: LakeWriter, store: Store) -> None:
    object.__setattr__(made._job, "store", store)


def upload(made: LakeWriter, *numbers: int, moment: datetime = NOW) -> Uploaded:
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "_time_extracted": pa.array([moment] * len(numbers), pa.timestamp("us", "UTC")),
    }
    return made.write(iter([pa.record_batch(columns)]))


def saved(store: Store, *numbers: int) -> None:
    made = writer(store)
    made.commit([upload(made, *numbers)])


def ids(store: Store) -> list[int]:
    records = open_on(store).stream(TAP, STREAM).snapshot().records()
    return sorted(record["id"] for record in records)


def files(store: Store) -> list[str]:
    return objects_in(store, ".singer.gz")


def assert_whole(store: Store, *numbers: int) -> None:
    """These records, each once, in files that are there, and no others are."""
    assert ids(store) == list(numbers)
    assert codes(check(store)) == []
    assert len(files(store)) == len(list(open_on(store).stream(TAP, STREAM).snapshot().files()))


def test_a_write_to_a_lake_that_is_read_only_is_refused(store: MemoryStore) -> None:
    saved(store, 1)
    open_on(store).set_read_only()
    before = objects_in(store)
    with pytest.raises(ReadOnly):
        writer(store)
    assert objects_in(store) == before


def test_a_write_that_began_before_it_was_read_only_uploads_no_more(store: MemoryStore) -> None:
    saved(store, 1)
    made: LakeWriter = pickle.loads(pickle.dumps(writer(store)))  # as an executor gets it
    open_on(store).set_read_only()
    with pytest.raises(ReadOnly):
        upload(made, 2)
    open_on(store).set_writable()
    assert_whole(store, 1)


def test_an_abort_after_a_commit_that_succeeded_and_raised_deletes_nothing(
    store: MemoryStore,
) -> None:
    """Spark aborts a write whose commit raised; only the answer to its put was lost."""
    saved(store, 0)
    losing = LosingAnswers(store, Lost(MANIFEST_REPLACE, SingerlakeError))
    made = writer(losing)
    messages = [upload(made, 1, 2), upload(made, 3)]
    with pytest.raises(SingerlakeError):
        made.commit(messages)
    made.abort(messages)
    assert_whole(store, 0, 1, 2, 3)


@pytest.mark.parametrize("at", [LOCK_DELETE, At("delete"), At("list", containing="_uploads")])
def test_nothing_is_raised_after_the_commit(store: MemoryStore, at: At) -> None:
    """Whatever the store's client raises then, and whatever it is."""
    saved(store, 0)
    made = writer(store)
    messages = [upload(made, 1)]
    upload(made, 1)  # by a speculative attempt
    use(made, AfterCommit(store, at))
    made.commit(messages)
    assert ids(store) == [0, 1]
    assert set(codes(check(store, times=QUICK))) <= {"orphan-upload", "stale-lock"}


class AfterCommit(LosingAnswers):
    """Fails at some kind of request, once the manifest was replaced."""

    def __init__(self, inner: Store, at: At) -> None:
        super().__init__(inner, Lost(at, OSError))  # type: ignore[arg-type]
        self.committed = False

    def around(self, method: str, key: str, call: Callable[[], Any]) -> Any:
        if self.committed and self.lost.at(method, key):
            raise OSError("connection reset")
        result = call()
        self.committed |= MANIFEST_REPLACE(method, key)
        return result


def test_an_abort_deletes_nothing_where_the_manifest_cannot_be_read(store: MemoryStore) -> None:
    made = writer(store)
    messages = [upload(made, 1)]
    store.delete(KEYS.manifest)
    made.abort(messages)
    assert len(files(store)) == 1


def test_an_abort_on_a_store_without_conditions_deletes_nothing(store: MemoryStore) -> None:
    """A put may yet arrive there. What is left is no part of the lake."""
    weak = BestEffort(store)
    made = writer(weak)
    messages = [upload(made, 1)]
    made.abort(messages)
    check(store, fix=True)
    assert ids(store) == []
    assert codes(check(store)) == ["orphan-upload"]


def test_a_failed_write_beside_a_mending_leaves_the_lake_whole(store: MemoryStore) -> None:
    saved(store, 0)
    made = writer(store)
    messages = [upload(made, 1, 2)]
    check(store, fix=True)
    made.abort(messages)
    assert_whole(store, 0)


def test_a_write_beside_a_mending_is_there_once(store: MemoryStore) -> None:
    saved(store, 0)
    made = writer(store)
    upload(made, 1, 2)  # by a speculative attempt
    messages = [upload(made, 1, 2)]
    check(store, fix=True)
    made.commit(messages)
    assert_whole(store, 0, 1, 2)


def test_what_was_adopted_and_merged_is_not_committed_again(store: MemoryStore) -> None:
    """Only a rebuild of a lost manifest adopts what a job has uploaded."""
    saved(store, 0)
    made = writer(store)
    messages = [upload(made, 1)]
    store.delete(KEYS.manifest)
    check(store, fix=True)
    vacuum(store, KEYS, VacuumOptions())
    made.commit(messages)
    assert ids(store) == [0, 1]
    assert codes(check(store)) == []


def test_a_mending_in_the_middle_of_an_abort_adopts_nothing_that_is_deleted(
    store: MemoryStore,
) -> None:
    saved(store, 0)
    made = writer(store)
    messages = [upload(made, 1), upload(made, 2)]
    gate = Gate(At("delete", ".singer.gz"))
    use(made, Pausing(store, gate))
    with ThreadPoolExecutor(1) as threads:
        aborting = threads.submit(made.abort, messages)
        gate.wait()
        check(store, fix=True)
        gate.open()
        aborting.result()
    assert_whole(store, 0)


def test_an_abort_removes_what_no_message_tells_of_whatever_its_times(store: MemoryStore) -> None:
    saved(store, 0)
    made = writer(store)
    upload(made, 1)
    upload(made, 2, moment=LATER)
    made.abort([None, None])
    assert_whole(store, 0)


class Hanging(Intercepting):
    """Uploads are sent, and arrive when a test says so."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.arrive: Callable[[], object] = lambda: None

    def around(self, method: str, key: str, call: Callable[[], Any]) -> Any:
        if not UPLOAD(method, key):
            return call()
        self.arrive = call
        raise OutcomeUnknown("hangs on purpose")


@pytest.mark.parametrize(("aborted", "expected"), [(False, [0, 1]), (True, [0])])
def test_an_upload_that_comes_late_is_no_part_of_the_lake(
    store: MemoryStore, aborted: bool, expected: list[int]
) -> None:
    """A speculative attempt, with other rows, was stopped when its request was under way."""
    saved(store, 0)
    made = writer(store)
    messages = [upload(made, 1)]
    hanging = Hanging(store)
    use(made, hanging)
    with pytest.raises(OutcomeUnknown):
        upload(made, 2)
    use(made, store)
    made.abort(messages) if aborted else made.commit(messages)
    hanging.arrive()
    check(store, fix=True)
    assert ids(store) == expected
    assert codes(check(store)) == ["orphan-upload"]


def test_an_attempt_with_the_same_rows_writes_the_same_file(store: MemoryStore) -> None:
    """Same bytes have the same name: it does not matter whose request was applied."""
    made = writer(store)
    messages = [upload(made, 1)]
    use(made, Hanging(store))
    assert upload(made, 1) == messages[0]
    use(made, store)
    made.commit(messages)
    assert_whole(store, 1)


def test_a_commit_costs_the_same_in_a_stream_of_any_size(store: MemoryStore) -> None:
    costs = []
    for count in (10, 500):
        made = writer(store)
        made.commit([upload(made, number) for number in range(count)])
        for number in range(5):
            saved(store, number)  # until no segment is due
        made = writer(store)
        messages = [upload(made, 1000)]
        counting = Counting(store)
        use(made, counting)
        made.commit(messages)
        costs.append(counting.counts)
    assert costs[0] == costs[1]
    assert costs[0].get("open", 0) == 0
    assert costs[0]["list"] == 3  # of this write's notes, and of the newest runs


def test_a_failed_write_leaves_the_catalogue_alone(tmp_path: Path) -> None:
    lake = land(tmp_path, [schema_line({"id": {"type": "integer"}}), record_line({"id": 1})])
    before = lake.tap(TAP).catalogue()
    made = writer(lake.store)
    made.abort([upload(made, 1)])
    assert lake.tap(TAP).catalogue() == before
    made = writer(lake.store)
    made.commit([upload(made, 1)])
    assert lake.tap(TAP).catalogue() != before
    assert codes(check(lake.store)) == []


def test_a_commit_that_is_refused_leaves_the_catalogue_alone(tmp_path: Path) -> None:
    lake = land(tmp_path, [schema_line({"id": {"type": "integer"}}), record_line({"id": 1})])
    before = lake.tap(TAP).catalogue()
    made = writer(lake.store)
    messages = [upload(made, 1)]
    uploads.withdraw(lake.store, KEYS, [made._job.id], "a purge", QUICK)
    with pytest.raises(CommitConflict, match="Nothing was committed"):
        made.commit(messages)
    made.abort(messages)
    assert lake.tap(TAP).catalogue() == before
    assert codes(check(lake.store)) == []


def test_a_catalogue_that_cannot_be_changed_after_the_commit_is_told_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An older schema is in it then; the files have theirs, and the next write tries again."""
    lake = land(tmp_path, [schema_line({"id": {"type": "integer"}}), record_line({"id": 1})])
    before = lake.tap(TAP).catalogue()
    made = writer(lake.store)
    messages = [upload(made, 2)]
    use(made, AfterCommit(lake.store, CATALOGUE_REPLACE))
    made.commit(messages)
    assert "the catalogue has the schema of the write before" in caplog.text
    assert lake.tap(TAP).catalogue() == before
    assert_whole(lake.store, 1, 2)
    saved(lake.store, 3)
    assert lake.tap(TAP).catalogue() != before
    assert_whole(lake.store, 1, 2, 3)


def test_a_first_write_that_fails_leaves_a_tap_and_an_empty_log(store: MemoryStore) -> None:
    """As docs/spark.md tells."""
    made = writer(store)
    made.abort([upload(made, 1)])
    lake = open_on(store)
    assert [tap.tap_id for tap in lake.taps()] == [TAP]
    assert lake.tap(TAP).catalogue() == {}
    assert_whole(store)
    saved(store, 1)
    assert_whole(store, 1)


def test_a_first_write_whose_commit_is_refused_leaves_a_stream_without_records(
    store: MemoryStore,
) -> None:
    made = writer(store)
    messages = [upload(made, 1)]
    uploads.withdraw(store, KEYS, [made._job.id], "a purge", QUICK)
    with pytest.raises(CommitConflict):
        made.commit(messages)
    made.abort(messages)
    assert list(open_on(store).tap(TAP).catalogue()) == [STREAM]
    assert_whole(store)


def test_a_stream_is_registered_before_its_first_file_is_committed(store: MemoryStore) -> None:
    made = writer(store)
    messages = [upload(made, 1)]
    assert codes(check(store)) == ["orphan-upload"]
    made.commit(messages)
    assert list(open_on(store).tap(TAP).catalogue()) == [STREAM]
    assert_whole(store, 1)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("_time_extracted", spark_types.StringType(), "is string: expected a timestamp"),
        ("_time_extracted", spark_types.DateType(), "is date: expected a timestamp"),
        ("_version", spark_types.StringType(), "is string: expected an integer"),
        ("_version", spark_types.DoubleType(), "is double: expected an integer"),
    ],
)
def test_columns_of_the_messages_have_their_types(
    store: MemoryStore, name: str, kind: spark_types.DataType, expected: str
) -> None:
    schema = spark_types.StructType().add("id", spark_types.LongType()).add(name, kind)
    with pytest.raises(ConfigError, match=expected):
        writer(store, schema)
    assert objects_in(store) == []


def test_an_unknown_option_is_refused() -> None:
    given = {"path": "lake", "tap": TAP, "stream": STREAM, "keyProperties": "id"}
    with pytest.raises(ConfigError, match=r"no option keyproperties: .*key_properties"):
        write_options(given)


ZONES = ["UTC", "America/New_York", "Europe/Amsterdam", "+02:00"]
OLD = datetime(1800, 1, 1, tzinfo=timezone.utc)


def records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for some in encode.encode(iter([batch]), STREAM, frozenset(batch.schema.names), NOW):
        for line in some.data.splitlines():
            yield json.loads(line)["record"]


@pytest.mark.parametrize("number", [1.0, float("nan")])
def test_a_row_that_no_reader_would_take_is_refused(
    number: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "LONGEST", 1000)
    batch = pa.record_batch({"text": pa.array(["x", "y" * 1000]), "x": pa.array([number] * 2)})
    assert len(list(records(batch.slice(0, 1)))) == 1
    with pytest.raises(BadMessage, match="bytes, where the lake takes 1000"):
        list(records(batch))


@pytest.mark.parametrize("zone", ZONES)
def test_times_are_written_in_utc(zone: str) -> None:
    """In New York an hour of 1800 is some seconds off, which an offset in minutes cannot tell."""
    kind = pa.timestamp("us", zone)
    nested = pa.struct([("l", pa.list_(kind)), ("m", pa.map_(pa.string(), kind))])
    batch = pa.record_batch(
        {
            "t": pa.array([OLD, OLD], kind),
            "n": pa.array([{"l": [OLD, None], "m": [("k", OLD)]}] * 2, nested),
            "x": pa.array([1.0, float("nan")]),
        }
    )
    text = "1800-01-01T00:00:00Z"
    for record in records(batch):
        assert record["t"] == text
        assert record["n"] == {"l": [text, None], "m": {"k": text}}


def test_an_executor_without_a_temporary_folder_is_told(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = writer(store)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="TMPDIR"):
        upload(made, 1)


def test_a_write_is_a_run_that_says_how_it_ended(tmp_path: Path) -> None:
    lake = land(tmp_path, [schema_line({"id": {"type": "integer"}}), record_line({"id": 1})])
    made = writer(lake.store)
    made.commit([upload(made, 1), upload(made, 2)])
    failed = writer(lake.store)
    failed.abort([upload(failed, 3)])
    empty = writer(lake.store)
    empty.commit([])
    whole, withdrawn, nothing = lake.tap(TAP).runs()
    assert [run.outcome for run in (whole, withdrawn, nothing)] == [
        "complete",
        "failed",
        "complete",
    ]
    stream = whole.streams[STREAM]
    assert (stream.first_sequence, stream.last_sequence, stream.records) == (2, 3, 2)
    assert withdrawn.streams[STREAM].files == nothing.streams[STREAM].files == 0
    assert codes(check(lake.store)) == []
