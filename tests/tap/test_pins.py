"""Replay as of a pin: a state that stays, and a bookmark that goes on from there."""

from __future__ import annotations

import pytest

from singerlake.errors import StaleBookmark
from singerlake.format import keys as key_names
from singerlake.lake import Lake, rebuild
from singerlake.store import Store, open_store
from tests.lake.landing import KEYS, TAP, land, land_each
from tests.tap.replay import Output, new_root, replay

pytestmark = pytest.mark.usefixtures("door")


@pytest.fixture
def lake() -> tuple[str, Store]:
    root = new_root()
    store = open_store(root)
    land_each(store, range(3))
    Lake(store).pin("p")
    land(store, [9], version=2)
    land(store, [1], "later")
    return root, store


def run(lake: tuple[str, Store], **settings: object) -> Output:
    return replay({"lake_root": lake[0], "tap_id": TAP, **settings})


def test_as_of_a_pin(lake: tuple[str, Store]) -> None:
    for as_of in ("p", "pin:p"):
        assert run(lake, as_of=as_of).numbers() == [0, 1, 2]
    assert run(lake, as_of="p").records("later") == []
    state = run(lake, as_of="p", streams=["orders"]).state
    after = replay({"lake_root": lake[0], "tap_id": TAP, "streams": ["orders"]}, state=state)
    assert after.numbers() == [9]


def test_a_pinned_stream_that_nobody_knows_any_more_is_missed(lake: tuple[str, Store]) -> None:
    """Its folder is gone, and a rebuild made the catalogue without it."""
    store = lake[1]
    for row in list(store.list(KEYS.folder)):
        store.delete(row.key)
    store.delete(key_names.catalogue(TAP))
    rebuild(store)
    for as_of in ("p", "pin:p"):
        with pytest.raises(StaleBookmark, match=r"pin 'p': .*'orders'"):
            run(lake, as_of=as_of)
    assert run(lake, as_of="p", streams=["later"]).records("later") == []
    assert run(lake, as_of="1").numbers("later") == [1]


def test_a_pin_of_another_log_is_refused(lake: tuple[str, Store]) -> None:
    lake[1].delete(KEYS.manifest)
    rebuild(lake[1])
    with pytest.raises(StaleBookmark, match="pin 'p'"):
        run(lake, as_of="p")
