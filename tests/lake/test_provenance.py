"""Who committed what, when and in which run: a log says the same before and after a vacuum."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.format import manifest as manifests
from singerlake.format.manifest import File
from singerlake.lake import Lake, Selection, check, log, merge, open_on, rebuild
from singerlake.lake.vacuum import vacuum
from singerlake.store import MemoryStore, Store, open_store
from tests.lake.landing import (
    KEYS,
    QUICK,
    STREAM,
    TAP,
    assert_clean,
    edit,
    files_in,
    new_store,
    numbers_in,
    options,
    overwrite,
    record_line,
    schema_line,
)
from tests.lake.merging import OPTIONS, purge_at_once

V1 = Path(__file__).parents[1] / "lakes" / "v1"


def land_run(store: Store, run_id: str, *commits: list[int], version: int = 1) -> None:
    with open_on(store, create=True).writer(TAP, run_id, options()) as writer:
        for numbers in commits:
            writer.write(schema_line(version=version))
            for number in numbers:
                writer.write(record_line(number))
            writer.commit()


def commits(store: Store) -> list[File]:
    return list(Lake(store).stream(TAP, STREAM).snapshot().commits())


Facts = tuple[Any, ...]


def facts(store: Store) -> list[Facts]:
    """What a log says of its commits, wherever their lines lie now."""
    return [
        (
            row.sequence,
            row.committed,
            row.writer_id,
            row.run_id,
            row.records,
            row.bytes,
            row.first,
            row.last,
            row.checksum,
        )
        for row in commits(store)
    ]


def tidy(store: Store) -> None:
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)


def six_runs() -> MemoryStore:
    store = new_store()
    for number in range(6):
        land_run(store, f"run-{number}", [2 * number], [2 * number + 1])
    return store


def test_six_runs_are_six_runs_after_vacuum_purge_and_rebuild() -> None:
    store = six_runs()
    before = facts(store)
    tidy(store)
    rebuild(store)
    assert len(files_in(store)) == 1
    assert facts(store) == before
    assert {row.run_id for row in commits(store)} == {f"run-{number}" for number in range(6)}
    assert_clean(store)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.booleans()), max_size=6))
def test_any_row_of_vacuums_keeps_every_commit(rounds: list[tuple[int, int, bool]]) -> None:
    store, number = new_store(), 0
    land_run(store, "first", [0])
    for index, (files, size, tidied) in enumerate(rounds):
        batches = []
        for _ in range(files):
            batches.append(list(range(number, number + size)))
            number += size
        land_run(store, f"run-{index}", *batches, version=1 + index % 5 // 4)
        before = facts(store)
        if tidied:
            tidy(store)
        assert facts(store) == before
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    for row in snapshot.commits():
        cut = Selection(since=row.sequence - 1, until=row.sequence)
        assert list(snapshot.commits(cut)) == [row]


def lost_manifest(store: MemoryStore) -> None:
    store.delete(KEYS.manifest)
    rebuild(store)


def older_manifest_rebuilt(store: MemoryStore) -> None:
    overwrite(store, KEYS.manifest, _empty_manifest(store))
    rebuild(store)


def older_manifest_fixed(store: MemoryStore) -> None:
    overwrite(store, KEYS.manifest, _empty_manifest(store))
    check(store, fix=True, times=QUICK)


def _empty_manifest(store: Store) -> bytes:
    """As it was before the first commit, of the same log."""
    head = log.read_head(store, KEYS).manifest
    return manifests.encode(
        msgspec.structs.replace(head, last_sequence=0, files=(), segments=(), versions={})
    )


@pytest.mark.parametrize("lose", [lost_manifest, older_manifest_rebuilt, older_manifest_fixed])
def test_where_the_manifest_was_lost_the_documents_have_the_commits(
    lose: Callable[[MemoryStore], None],
) -> None:
    store = six_runs()
    tidy(store)
    before = facts(store)
    lose(store)
    assert facts(store) == before
    assert files_in(store)[0].parts == 12
    assert numbers_in(store) == list(range(12))
    # The numbers are as good as those before: a vacuum, and a read from within, go on from there.
    land_run(store, "seventh", [12])
    last = facts(store)
    assert [fact[0] for fact in last] == list(range(1, 14))
    tidy(store)
    assert facts(store) == last
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    assert [record["id"] for record in snapshot.records(Selection(since=7))] == [
        7,
        8,
        9,
        10,
        11,
        12,
    ]
    assert_clean(store)


def test_a_plain_file_keeps_its_writer_and_run_without_a_manifest() -> None:
    store = six_runs()
    before = [(row.writer_id, row.run_id) for row in commits(store)]
    lost_manifest(store)
    assert [(row.writer_id, row.run_id) for row in commits(store)] == before


def forget(store: Store) -> None:
    """As a vacuum of an older Singerlake leaves a merged file: without its commits."""
    (file,) = files_in(store)
    assert file.merge is not None
    key = KEYS.under(file.merge.path)
    body = json.loads(store.read(key).data)
    del body["commits"]
    data = json.dumps(body).encode()
    overwrite(store, key, data)
    edit(store, KEYS.manifest, lambda body: _with_checksum(body, data))


def _with_checksum(body: dict[str, Any], data: bytes) -> None:
    body["files"][0]["merge"]["checksum"] = log.checksum(data)


def test_what_an_older_vacuum_forgot_is_one_row_also_when_it_is_merged_again() -> None:
    store = new_store()
    land_run(store, "old", [0], [1], [2])
    vacuum(store, KEYS, OPTIONS)
    forget(store)
    (row,) = commits(store)
    assert (row.lowest_sequence, row.sequence, row.run_id, row.records) == (1, 3, "vacuum", 3)
    land_run(store, "new", [3], [4])
    tidy(store)
    assert len(files_in(store)) == 1
    told = [(row.lowest_sequence, row.sequence, row.run_id, row.records) for row in commits(store)]
    assert told == [(1, 3, "vacuum", 3), (4, 4, "new", 1), (5, 5, "new", 1)]
    assert_clean(store)


def test_a_document_has_each_commit_once_however_often_its_file_was_merged() -> None:
    store = new_store()
    for index in range(8):
        land_run(
            store, f"run-{index}", *([number] for number in range(20 * index, 20 * index + 20))
        )
        tidy(store)
    files = files_in(store)
    documents = [merge.read_merge(store, KEYS, file) for file in files]
    numbers = [row.sequence for told in documents if told is not None for row in told.known_rows()]
    plain = [file.sequence for file in files if file.merge is None]
    assert sorted(numbers + plain) == list(range(1, 161))
    # Twenty commits of one run share an object.
    groups = [len(one.parts) for told in documents if told is not None for one in told.commits]
    assert set(groups) == {20}


def test_a_lost_document_leaves_the_row_of_the_merged_file() -> None:
    store = six_runs()
    vacuum(store, KEYS, OPTIONS)
    (file,) = files_in(store)
    assert file.merge is not None
    store.delete(KEYS.under(file.merge.path))
    assert commits(store) == [file]


def test_lakes_of_older_versions_say_what_they_said() -> None:
    for tap in open_on(open_store(V1)).taps():
        for stream in tap.streams():
            snapshot = stream.snapshot()
            assert list(snapshot.commits()) == list(snapshot.files())
