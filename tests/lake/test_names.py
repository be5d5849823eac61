"""Names of Singer files: each means the same bytes for ever, in every copy of the lake."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from singerlake.errors import AlreadyExists, OutcomeUnknown
from singerlake.format import keys as key_names
from singerlake.format.keys import FileName
from singerlake.format.merge import Merge, Retiree
from singerlake.lake import check, merge, open_on, rebuild, retired
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import vacuum
from singerlake.store import LocalStore, Store
from tests.lake.faulty_store import LosingAnswers, Lost
from tests.lake.landing import (
    KEYS,
    QUICK,
    assert_clean,
    copy_of,
    files_in,
    land,
    new_store,
    numbers_in,
    older_names,
    options,
    record_line,
    schema_line,
)
from tests.lake.merging import AT_ONCE, OPTIONS, BeforeTheCommit, purge_at_once


def land_at_one_time(store: Store, *numbers: int) -> None:
    """A commit for each record, all with the time of record 0."""
    with open_on(store, create=True).writer("tap-test--tests", options=options(QUICK)) as writer:
        for number in numbers:
            writer.write(schema_line())
            writer.write(record_line(0).replace(b'"id": 0', b'"id": %d' % number))
            writer.commit()


@contextlib.contextmanager
def names_compared_by_nothing() -> Iterator[None]:
    """What it was: the names of purged files come again, and are taken for those files."""

    def very(
        store: Any, keys: Any, listed: Any, checksums: Any, returned: Any, merge: Merge
    ) -> list[Retiree]:
        return list(merge.retired)

    with older_names(), mock.patch.object(retired, "_very", very):
        yield


KINDS = {"by content": contextlib.nullcontext, "older": older_names}


def a_copy_that_lost_its_manifest() -> Store:
    """A sync copies in the order of keys: the merge document is younger than the file that took
    the name of one that it retires."""
    store = new_store()
    land_at_one_time(store, 1)
    land(store, [50])
    vacuum(store, KEYS, OPTIONS)
    purge(store, KEYS, AT_ONCE)
    land_at_one_time(store, 4)
    copy = copy_of(store)
    copy.delete(KEYS.manifest)
    rebuild(copy)
    return copy


@pytest.mark.parametrize("names", KINDS)
def test_a_copy_of_a_lake_loses_no_file_that_has_the_times_of_a_purged_one(names: str) -> None:
    with KINDS[names]():
        store = a_copy_that_lost_its_manifest()
        assert sorted(numbers_in(store)) == [1, 4, 50]
        check(store, fix=True, times=QUICK)
        purge(store, KEYS, AT_ONCE)
        assert sorted(numbers_in(store)) == [1, 4, 50]
        assert_clean(store)


def test_the_control_loses_it() -> None:
    with names_compared_by_nothing():
        assert sorted(numbers_in(a_copy_that_lost_its_manifest())) == [1, 50]


def a_slow_writer_beside_a_purge(root: Path) -> Store:
    """Its bytes are older than the merge: it stood still before it gave them their name."""
    store = LocalStore(root)
    land_at_one_time(store, 1)
    land(store, [50])
    vacuum(store, KEYS, OPTIONS)
    purge(store, KEYS, AT_ONCE)

    def purge_again(inner: Store) -> None:
        for file in root.rglob("*.singer.gz"):
            os.utime(file, (1e9, 1e9))
        purge(inner, KEYS, AT_ONCE)

    land_at_one_time(BeforeTheCommit(store, purge_again), 4)
    return store


@pytest.mark.parametrize("names", KINDS)
def test_a_purge_without_grace_takes_no_file_of_a_writer_at_work(
    names: str, tmp_path: Path
) -> None:
    with KINDS[names]():
        store = a_slow_writer_beside_a_purge(tmp_path)
        assert numbers_in(store) == [1, 50, 4]
        assert_clean(store)


def test_the_control_takes_it(tmp_path: Path) -> None:
    with names_compared_by_nothing():
        store = a_slow_writer_beside_a_purge(tmp_path)
        assert "file-missing" in {one.code for one in check(store, times=QUICK).findings}


def test_a_name_ends_in_the_digits_of_the_file_s_own_hash() -> None:
    store = new_store()
    land(store, [1])
    land(store, [2])
    vacuum(store, KEYS, OPTIONS)
    (merged,) = files_in(store)
    for file in (merged, *land(store, [3])):
        name = FileName.parse(file.path.rpartition("/")[2])
        assert name is not None
        assert name.digits == file.checksum.removeprefix("sha256:")[:10]


def test_a_lost_answer_to_an_upload_is_settled_by_looking() -> None:
    store = new_store()

    def is_upload(method: str, key: str) -> bool:
        return method == "create" and key.endswith(".singer.gz")

    for number, error in enumerate([OutcomeUnknown, AlreadyExists]):
        land(LosingAnswers(store, Lost(is_upload, error)), [number])
    assert numbers_in(store) == [0, 1]
    assert_clean(store)


@contextlib.contextmanager
def too_few_digits() -> Iterator[None]:
    """Every second file has the digits of the one before."""
    seen: dict[str, str] = {}

    def digits(checksum: str) -> str:
        return seen.setdefault(checksum, f"{len(seen) // 2:010d}")

    with mock.patch.object(key_names, "digits_of", digits):
        yield


@pytest.mark.parametrize("records", [1, 3000], ids=["in memory", "on disk"])
def test_files_whose_digits_clash_are_written_in_other_bytes(records: int) -> None:
    store = new_store()
    with too_few_digits():
        for at in range(2):
            with open_on(store, create=True).writer("tap-test--tests", options=options()) as writer:
                writer.write(schema_line())
                noise = os.urandom(40 * records).hex()
                for number in range(records):
                    text = noise[80 * number : 80 * (number + 1)]
                    line = record_line(0).replace(b'"id": 0', f'"id": {at}, "x": "{text}"'.encode())
                    writer.write(line)
        rows = files_in(store)
        assert len({row.path for row in rows}) == 2
        assert [row.sequence for row in rows] == [1, 2]
        assert numbers_in(store) == [0] * records + [1] * records
        assert_clean(store)
        before = [(row.writer_id, row.run_id) for row in rows]
        store.delete(KEYS.manifest)
        rebuild(store)
        assert sorted((row.writer_id, row.run_id) for row in files_in(store)) == sorted(before)


def test_a_merged_file_whose_digits_clash_is_written_in_other_bytes() -> None:
    """Beside another merge of the same files, which gave up."""
    store = new_store()
    with too_few_digits():
        land(store, [1])
        land(store, [2])
        left = [merge.merge_files(store, KEYS, files_in(store), 1, name) for name in ("a", "b")]
        vacuum(store, KEYS, OPTIONS)
        assert len({file.path for file in (*left, *files_in(store))}) == 3
        assert numbers_in(store) == [1, 2]
        purge_at_once(store)
        assert numbers_in(store) == [1, 2]
        assert_clean(store)
