"""Annotations: what is asked for changes, and nothing else does."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from singerlake.errors import UnknownTap
from singerlake.format.keys import LAKE_DOCUMENT
from singerlake.lake import Lake
from singerlake.store import Counting
from tests.lake.landing import TAP, edit, land, new_store


def test_only_what_is_asked_for_changes() -> None:
    store = new_store()
    land(store, [1])
    edit(store, LAKE_DOCUMENT, lambda body: body.update(theirs=[1]))
    edit(store, LAKE_DOCUMENT, lambda body: body["taps"][TAP].update(owner="a", on_call="b"))
    before = json.loads(store.read(LAKE_DOCUMENT).data)
    Lake(store).annotate(TAP, {"description": "c"}, {"team": "d", "tier": "1"})
    Lake(store).annotate(TAP, {}, {"tier": None, "never": None})
    before["taps"][TAP].update(description="c", tags={"team": "d"})
    assert json.loads(store.read(LAKE_DOCUMENT).data) == before


def test_nothing_is_written_where_nothing_changes() -> None:
    store = Counting(new_store())
    land(store, [1])
    store.reset()
    Lake(store).annotate(TAP, {"owner": ""})
    assert store.counts == {"read": 1}


def test_a_tap_that_is_not_there_is_not_made() -> None:
    store = new_store()
    land(store, [1])
    with pytest.raises(UnknownTap, match="tap-nobody"):
        Lake(store).annotate("tap-nobody", {"owner": "a"})
    assert list(Lake(store).annotations()) == [TAP]


def test_annotations_at_the_same_moment_are_all_kept() -> None:
    store = new_store()
    land(store, [1])
    names = [f"tag-{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        [*pool.map(lambda name: Lake(store).annotate(TAP, {}, {name: name}), names)]
    assert Lake(store).annotations()[TAP]["tags"] == dict(zip(names, names, strict=True))
