"""A purge where a merged file is damaged: the files it was made from are the only copies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from singerlake.lake import rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Store
from tests.lake.landing import (
    KEYS,
    QUICK,
    assert_clean,
    land,
    new_store,
    numbers_in,
    overwrite,
    paths_in,
)

AT_ONCE = timedelta(0)


def cut(store: Store, key: str) -> None:
    overwrite(store, key, store.read(key).data[:-1])


DAMAGES: dict[str, Callable[[Store, str], object]] = {
    "gone": lambda store, key: store.delete(key),
    "cut": cut,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_merge_replaced_is_kept_while_its_own_file_is_not_whole(damage: str) -> None:
    store = new_store()
    land(store, [1])
    land(store, [2])
    vacuum(store, KEYS, VacuumOptions(lock=QUICK))
    (merged,) = map(KEYS.under, paths_in(store))
    DAMAGES[damage](store, merged)
    assert purge(store, KEYS, AT_ONCE, dry_run=True) == []
    assert purge(store, KEYS, AT_ONCE) == []
    store.delete(merged)
    rebuild(store)
    assert numbers_in(store) == [1, 2]
    assert purge(store, KEYS, AT_ONCE, abandoned=AT_ONCE) != []  # the document of the merge
    assert_clean(store)
