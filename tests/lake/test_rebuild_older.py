"""Mending where merges and what they were made from are not what the log names.

An older manifest was put back over a vacuum, whose sources a purge has deleted, or a merged file is
lost. Whoever has read further than what is known reads nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from singerlake.errors import StaleBookmark, Unavailable
from singerlake.format import keys as key_names
from singerlake.format.keys import RunKeys
from singerlake.lake import Bookmark, Lake, log, manifest_copy, rebuild
from singerlake.lake.feed.event import Committed, Replaced
from singerlake.lake.purging import purge
from singerlake.lake.restoring import restore
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Store
from tests.faults.reference import DyingPurge
from tests.lake.feed.clockwork import Following
from tests.lake.landing import (
    KEYS,
    STREAM,
    TAP,
    assert_clean,
    files_in,
    land,
    land_each,
    new_store,
    numbers_in,
    overwrite,
)
from tests.lake.test_markers import run

NOW = timedelta(0)


@pytest.mark.parametrize("later", [[], [2]], ids=["as long", "shorter"])
@pytest.mark.parametrize("read", [1, 2])
def test_a_merge_keeps_the_numbers_of_its_sources(later: list[int], read: int) -> None:
    """They were adopted under new numbers of the same log: a reader had records twice."""
    store = new_store()
    land_each(store, [0, 1])
    stream = Lake(store).stream(TAP, STREAM)
    places = [event.bookmark for event in stream.increment().events()]
    older = store.read(KEYS.manifest).data
    land_each(store, later)
    vacuum(store, KEYS, VacuumOptions())
    purge(store, KEYS, NOW, abandoned=NOW)
    overwrite(store, KEYS.manifest, older)
    rebuild(store)
    increment = stream.increment(places[read - 1])
    there = [record["id"] for record in stream.snapshot().records(increment.selection)]
    assert there == [*range(read, 2), *later]
    assert_clean(store)


def test_whoever_keeps_facts_of_files_hears_of_the_merge() -> None:
    store = new_store()
    land_each(store, [0, 1])
    consumer = Following(store)
    consumer.poll()
    older = store.read(KEYS.manifest).data
    vacuum(store, KEYS, VacuumOptions())
    purge(store, KEYS, NOW, abandoned=NOW)
    overwrite(store, KEYS.manifest, older)
    rebuild(store)
    assert [type(event) for event in consumer.poll()] == [Replaced]
    land(store, [2])
    assert [type(event) for event in consumer.poll()] == [Committed]


Mend = Callable[[Store], object]
EITHER = pytest.mark.parametrize("mend", [rebuild, restore])


def end_of(store: Store) -> Bookmark:
    return Lake(store).stream(TAP, STREAM).increment().until


def read_behind(store: Store, bookmark: Bookmark) -> list[int]:
    increment = Lake(store).stream(TAP, STREAM).increment(bookmark)
    return [record["id"] for record in increment.snapshot.records(increment.selection)]


def vacuumed(store: Store, *, purged: bool) -> None:
    vacuum(store, KEYS, VacuumOptions())
    if purged:
        purge(store, KEYS, NOW, abandoned=NOW)


@EITHER
@pytest.mark.parametrize("purged", [False, True])
def test_a_merge_that_was_merged_again_keeps_its_numbers(purged: bool, mend: Mend) -> None:
    """All metadata was put back: the log names a merged file that was merged again, and purged."""
    store = new_store()
    run(store, 0, 1)
    vacuumed(store, purged=purged)
    kept = (KEYS.manifest, KEYS.manifest_copy, key_names.catalogue(TAP), RunKeys(TAP).log)
    backup = {key: store.read(key).data for key in kept}
    bookmark = end_of(store)
    run(store, 2, 3)
    vacuumed(store, purged=True)
    for key, data in backup.items():
        overwrite(store, key, data)
    mend(store)
    assert numbers_in(store) == [0, 1, 2, 3]
    assert read_behind(store, bookmark) == [2, 3]
    assert not log.read_head(store, KEYS).manifest.gaps


@EITHER
@pytest.mark.parametrize("purged", [False, True])
def test_what_was_merged_keeps_its_numbers_where_the_merged_file_is_lost(
    purged: bool, mend: Mend
) -> None:
    """Of the first it is a merge that is there, where a purge has deleted what that was made of."""
    store = new_store()
    run(store, 0, 1)
    vacuumed(store, purged=purged)
    bookmark = end_of(store)
    run(store, 2, 3)
    vacuumed(store, purged=False)
    (again,) = files_in(store)
    store.delete(KEYS.under(again.path))
    mend(store)
    assert [row.parts for row in files_in(store)] == ([2, 1, 1] if purged else [1, 1, 1, 1])
    assert numbers_in(store) == [0, 1, 2, 3]
    assert read_behind(store, bookmark) == [2, 3]
    assert Lake(store).stream(TAP, STREAM).snapshot().manifest.last_sequence == 4


@EITHER
@pytest.mark.parametrize("deletes", range(5))
def test_a_purge_that_died_behind_an_older_manifest(deletes: int, mend: Mend) -> None:
    """It takes the merge for one that was given up: nothing is read twice, whatever it deleted."""
    store = new_store()
    land(store, [0, 1])
    older = store.read(KEYS.manifest).data
    run(store, 2, 3)
    vacuumed(store, purged=False)
    bookmark = end_of(store)
    overwrite(store, KEYS.manifest, older)
    with suppress(Unavailable):
        purge(DyingPurge(store, deletes), KEYS, NOW, abandoned=NOW)
    mend(store)
    assert numbers_in(store) == [0, 1, 2, 3]
    assert read_or_refused(store, bookmark) == []


def read_or_refused(store: Store, bookmark: Bookmark) -> list[int]:
    try:
        return read_behind(store, bookmark)
    except StaleBookmark:
        return []


def test_a_log_begins_anew_before_lines_that_come_back_under_other_numbers() -> None:
    """Nothing tells any more what the lost merge was made from."""
    store = new_store()
    land_each(store, [0, 1, 2])
    first, *_ = files_in(store)
    vacuumed(store, purged=False)
    bookmark = end_of(store)
    (merged,) = files_in(store)
    assert merged.merge is not None
    store.delete(KEYS.under(merged.path))
    store.delete(KEYS.under(merged.merge.path))
    report = rebuild(store)
    assert KEYS.under(first.path) in report.adopted
    assert numbers_in(store) == [0, 1, 2]
    with pytest.raises(StaleBookmark):
        read_behind(store, bookmark)


def test_a_merge_that_goes_on_behind_a_merged_row_is_not_put_in_its_place() -> None:
    """A merge of 1 to 4 took the place of one of 1 and 2, though the log goes on with another 4."""
    store = new_store()
    land_each(store, [0, 1])
    vacuum(store, KEYS, VacuumOptions())
    purge(store, KEYS, NOW, abandoned=NOW)
    land(store, [2])
    older = store.read(KEYS.manifest).data
    lost = [
        KEYS.under(file.path)
        for file in log.files(store, KEYS, log.read_head(store, KEYS).manifest)
    ]
    land(store, [3])
    vacuum(store, KEYS, VacuumOptions())
    manifest_copy.keep(store, KEYS, log.read_head(store, KEYS).manifest)
    for key in lost:  # a purge that dies before it comes to the documents
        store.delete(key)
    overwrite(store, KEYS.manifest, older)
    land(store, [4])
    rebuild(store)
    assert sorted(numbers_in(store)) == [0, 1, 2, 3, 4]
    assert_clean(store)
