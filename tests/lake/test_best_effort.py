"""Commits on stores that do not keep every condition: what holds all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from singerlake.errors import CorruptDocument
from singerlake.lake import check, open_on
from singerlake.store import Store
from tests.lake.faulty_store import MANIFEST_REPLACE, BestEffort, Hooked, Intercepting
from tests.lake.landing import (
    KEYS,
    QUICK,
    TAP,
    assert_clean,
    assert_once_each,
    land,
    land_each,
    new_store,
    numbers_in,
    objects_in,
    options,
    overwrite,
    record_line,
    schema_line,
)


def test_a_best_effort_store_serves_a_single_writer(small_segments: None) -> None:
    store = new_store()
    weak = BestEffort(store)
    land_each(weak, range(12), times=QUICK)
    land(weak, [12], version=2, times=QUICK)
    assert_once_each(store, 13)
    assert_clean(store)
    assert objects_in(store, "singerlake.lock") == []


def test_on_a_best_effort_store_a_commit_is_read_back_and_repeated_where_it_was_overwritten() -> (
    None
):
    store = new_store()
    land(store, [0])
    before = store.read(KEYS.manifest).data

    def overwritten() -> None:
        store.replace(KEYS.manifest, before, store.read(KEYS.manifest).version)

    land(BestEffort(Hooked(store, MANIFEST_REPLACE, overwritten)), [1])
    assert_once_each(store, 2)
    assert_clean(store)


def test_files_with_the_same_times_need_no_condition() -> None:
    """Large ones go in parts, and there are servers that ignore the condition of such an upload."""

    class Overwriting(Intercepting):
        def create(self, key: str, data: Any) -> str:
            if key.endswith(".singer.gz"):
                self.inner.delete(key)
            return super().create(key, data)

    store = new_store()
    for _ in range(3):
        land(Overwriting(store), [0])
    assert numbers_in(store) == [0] * 3
    assert_clean(store)


@pytest.mark.parametrize("kind", [Intercepting, BestEffort])
def test_a_log_that_went_back_stops_its_writer_and_a_fix_finds_what_it_lost(
    kind: Callable[[Store], Store],
) -> None:
    """A put that timed out, and arrives late, does that where the store keeps no conditions."""
    store = new_store()
    writer = open_on(kind(store), create=True).writer(TAP, options=options(QUICK))
    writer.write(schema_line())
    manifests = []
    for number in range(2):
        writer.write(record_line(number))
        writer.commit()
        manifests.append(store.read(KEYS.manifest).data)
    overwrite(store, KEYS.manifest, manifests[0])
    writer.write(record_line(2))
    with pytest.raises(CorruptDocument, match=r"sequence 2 or more, found that it ends at 1.*fix"):
        writer.commit()
    writer.close()
    assert numbers_in(store) == [0]
    check(store, fix=True, times=QUICK)
    assert_once_each(store, 3)
    assert_clean(store)
