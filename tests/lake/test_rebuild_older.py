"""Rebuild where an older manifest was put back over a vacuum, whose sources a purge has deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from singerlake.lake import Lake, rebuild
from singerlake.lake.feed.event import Committed, Replaced
from singerlake.lake.vacuum import VacuumOptions, purge, vacuum
from tests.lake.feed.clockwork import Following
from tests.lake.landing import (
    KEYS,
    STREAM,
    TAP,
    assert_clean,
    land,
    land_each,
    new_store,
    overwrite,
)

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
