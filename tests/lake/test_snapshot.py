"""What a reader is told about its bookmark, and about streams that have no records."""

from __future__ import annotations

import json
from datetime import datetime

import msgspec
import pytest

from singerlake import Lake, open_lake
from singerlake.errors import (
    ConfigError,
    MissingManifest,
    SchemaCollision,
    StaleBookmark,
    UnknownStream,
)
from singerlake.format import manifest as manifests
from singerlake.format import schema as schemas
from singerlake.format.keys import StreamKeys
from singerlake.lake import Bookmark, LockTimes, check, log, rebuild
from singerlake.lake.feed import increment, position
from singerlake.lake.log import Selection
from singerlake.store import MemoryStore

TAP = "tap-x--test"
KEYS = StreamKeys(TAP, "orders")


def schema_line(stream: str = "orders", description: str = "") -> bytes:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    if description:
        schema["description"] = description
    message = {"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": ["id"]}
    return json.dumps(message).encode()


def record_line(number: int) -> bytes:
    moment = f"2026-01-01T00:00:{number % 60:02d}Z"
    record = {"type": "RECORD", "stream": "orders", "record": {"id": number}}
    return json.dumps({**record, "time_extracted": moment}).encode()


@pytest.fixture
def lake(request: pytest.FixtureRequest) -> Lake:
    return open_lake(f"memory://snapshot-{request.node.name}", create=True)


def land(lake: Lake, *numbers: int) -> None:
    with lake.writer(TAP) as writer:
        writer.write(schema_line())
        for number in numbers:
            writer.write(record_line(number))


def test_a_selection_by_times_without_a_zone_takes_them_for_utc(lake: Lake) -> None:
    land(lake, 1)
    land(lake, 2)
    snapshot = lake.stream(TAP, "orders").snapshot()
    moment = datetime(2026, 1, 1, 0, 0, 2)
    assert [file.sequence for file in snapshot.files(Selection(start=moment))] == [2]
    assert [file.sequence for file in snapshot.files(Selection(end=moment))] == [1]


def test_a_bookmark_gives_what_was_committed_since(lake: Lake) -> None:
    land(lake, 1)
    snapshot = lake.stream(TAP, "orders").snapshot()
    place = position.after(snapshot, next(snapshot.files()))
    land(lake, 2)
    later = lake.stream(TAP, "orders").snapshot()
    assert [file.sequence for file in increment.take(later, place).files()] == [2]
    assert [file.sequence for file in increment.take(snapshot, place).files()] == []


def test_a_bookmark_of_another_log_is_refused(lake: Lake) -> None:
    land(lake, 1)
    with pytest.raises(StaleBookmark, match="another log"):
        lake.stream(TAP, "orders").increment(Bookmark("elsewhere", 1))


def test_a_bookmark_past_the_end_is_refused(lake: Lake) -> None:
    land(lake, 1)
    snapshot = lake.stream(TAP, "orders").snapshot()
    with pytest.raises(StaleBookmark, match="older than the bookmark"):
        increment.take(snapshot, Bookmark(snapshot.manifest.log_id, 2))


def test_a_bookmark_without_a_manifest_asks_for_a_rebuild(lake: Lake) -> None:
    land(lake, 1)
    lake.store.delete(KEYS.manifest)
    with pytest.raises(MissingManifest, match="singerlake rebuild"):
        lake.stream(TAP, "orders").increment(Bookmark("any", 1))


def test_a_stream_whose_schema_came_without_records_is_empty_not_unknown(lake: Lake) -> None:
    land(lake)
    snapshot = lake.stream(TAP, "orders").snapshot()
    assert list(snapshot.files()) == []
    assert not snapshot.by_listing
    with pytest.raises(UnknownStream):
        lake.stream(TAP, "nothing").snapshot()


def test_two_schemas_with_one_hash_in_one_run_are_not_mixed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "hash_text", lambda text: "AAAAAAA")
    with lake.writer(TAP) as writer:
        writer.write(schema_line())
        writer.write(record_line(1))
        with pytest.raises(SchemaCollision):
            writer.write(schema_line(description="another"))


@pytest.mark.parametrize("run_id", ["x" * 200, "Ö" * 100])
def test_a_run_id_that_no_header_can_hold_is_refused_at_once(lake: Lake, run_id: str) -> None:
    with pytest.raises(ConfigError, match="run id"):
        lake.writer(TAP, run_id)


def test_a_rebuild_of_a_sound_log_leaves_held_snapshots_readable(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
    for number in range(12):
        land(lake, number)
    held = lake.stream(TAP, "orders").snapshot()
    rebuild(lake.store)
    assert [file.sequence for file in held.files()] == list(range(1, 13))
    assert check(lake.store).findings == []


def test_a_segment_row_that_does_not_sum_up_its_rows_is_found(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
    for number in range(6):
        land(lake, number)
    head = log.read_head(lake.store, KEYS)
    wrong = msgspec.structs.replace(head.manifest.segments[0], records=99)
    changed = msgspec.structs.replace(head.manifest, segments=(wrong, *head.manifest.segments[1:]))
    lake.store.replace(KEYS.manifest, msgspec.json.encode(changed), head.version)
    assert {finding.code for finding in check(lake.store).findings} == {"segment-wrong"}


def test_a_new_version_never_takes_a_number_that_was_used(lake: Lake) -> None:
    land(lake, 1)
    head = log.read_head(lake.store, KEYS)
    known = next(iter(head.manifest.versions.values()))
    renumbered = {"BBBBBBB": msgspec.structs.replace(known, version=3)}
    manifest = msgspec.structs.replace(head.manifest, versions=renumbered)
    added = manifests.append(manifest, [], manifest.commit, {"CCCCCCC": "sha256:0"})
    assert added.versions["CCCCCCC"].version == 4


def test_a_lock_that_may_not_be_removed_does_not_hide_the_commit() -> None:
    class NoDelete(MemoryStore):
        """Stands in for a store whose policy allows no deletes."""

        def delete_if(self, key: str, version: str) -> None:
            raise ConfigError("no permission")

    store = NoDelete("no-delete")
    lake = Lake(store)
    land(lake, 1)
    assert log.read_head(store, KEYS).manifest.last_sequence == 1
    report = check(store, times=LockTimes(stale_after=0.01))
    assert [finding.code for finding in report.findings] == ["stale-lock"]


def test_a_writer_that_finds_no_documents_makes_them_whole(lake: Lake) -> None:
    land(lake, 1)
    with lake.writer("tap-other--test") as writer:
        writer.write(schema_line("refunds"))
    with lake.writer(TAP) as writer:
        writer.write(schema_line("invoices"))
        message = {"type": "RECORD", "stream": "invoices", "record": {"id": 1}}
        writer.write(json.dumps(message).encode())
    for key in ("raw/singerlake.json", f"raw/{TAP}/catalogue.json"):
        lake.store.delete(key)
    land(lake, 2)
    assert [tap.tap_id for tap in lake.taps()] == ["tap-other--test", TAP]
    assert [stream.name for stream in lake.tap(TAP).streams()] == ["invoices", "orders"]
