"""Registering streams with what a writer knows already: others may have changed it since."""

from __future__ import annotations

import pytest

from singerlake.errors import MissingManifest
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys
from singerlake.lake import commit, open_on, registry
from singerlake.lake.writer import Writer
from singerlake.store import Store
from tests.lake.landing import TAP, assert_clean, new_store, options, record_line, schema_line


def writer(store: Store) -> Writer:
    return open_on(store, create=True).writer(TAP, options=options())


def land(writer: Writer, stream: str) -> None:
    writer.write(schema_line(stream))
    writer.write(record_line(1, stream))
    writer.commit()


def test_a_stream_that_another_writer_has_added_meanwhile_stays() -> None:
    store = new_store()
    with writer(store) as one, writer(store) as other:
        land(one, "a")
        land(other, "b")
        land(one, "c")
        land(other, "d")
    assert sorted(registry.read_catalogue(store, TAP) or ()) == ["a", "b", "c", "d"]
    assert_clean(store)


def test_streams_come_back_to_a_catalogue_that_was_deleted_meanwhile() -> None:
    """One of the new stream alone would hide the others."""
    store = new_store()
    with writer(store) as one:
        land(one, "a")
        store.delete(key_names.catalogue(TAP))
        land(one, "b")
    assert sorted(registry.read_catalogue(store, TAP) or ()) == ["a", "b"]
    assert_clean(store)


def test_a_stream_that_is_new_to_the_catalogue_alone_keeps_its_log() -> None:
    store, keys = new_store(), StreamKeys(TAP, "a")
    with writer(store) as one:
        land(one, "a")
        head = commit.open_log(store, keys, "w", is_new=True)
        assert head.manifest.last_sequence == 1
        land(one, "a")
    store.delete(keys.manifest)
    with pytest.raises(MissingManifest):
        commit.open_log(store, keys, "w", is_new=True)
