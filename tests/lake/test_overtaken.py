"""A reader that a purge overtook is sent round again; one that meets damage is not."""

from __future__ import annotations

import pytest

from singerlake.errors import BusyError, CorruptDocument, MissingFile, StaleSnapshot
from singerlake.format import manifest as manifests
from singerlake.lake import Lake, Selection, rebuild
from singerlake.lake.snapshot import Snapshot
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store
from tests.lake.landing import KEYS, STREAM, TAP, files_in, land_each, new_store
from tests.lake.merging import OPTIONS, merged_lake, purge_at_once


def snapshot(store: Store) -> Snapshot:
    return Lake(store).stream(TAP, STREAM).snapshot()


def numbers(held: Snapshot, selection: Selection | None = None) -> list[int]:
    return [record["id"] for record in held.records(selection or Selection())]


def test_a_reader_whose_files_were_merged_and_purged_runs_again() -> None:
    store = new_store()
    land_each(store, range(4))
    held = snapshot(store)
    vacuum(store, KEYS, OPTIONS)
    assert numbers(held) == [0, 1, 2, 3], "the grace period"
    purge_at_once(store)
    with pytest.raises(StaleSnapshot, match=r"a vacuum has merged .* run it again") as caught:
        numbers(held)
    assert isinstance(caught.value, BusyError)
    assert "backup" not in str(caught.value)
    assert numbers(snapshot(store)) == [0, 1, 2, 3]


def test_so_does_one_within_a_merged_file_that_was_merged_again() -> None:
    store = merged_lake(*range(4))
    held = snapshot(store)
    land_each(store, range(4, 9))
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    with pytest.raises(StaleSnapshot, match="run it again"):
        numbers(held, Selection(since=2))


def test_so_does_one_whose_file_is_a_gap_now() -> None:
    store = new_store()
    land_each(store, range(3))
    held = snapshot(store)
    store.delete(KEYS.under(files_in(store)[1].path))
    with pytest.raises(MissingFile, match="backup"):
        numbers(held)
    rebuild(store)
    with pytest.raises(StaleSnapshot, match=r"a rebuild has recorded that it is gone"):
        numbers(held)
    assert numbers(snapshot(store)) == [0, 2]


def test_so_does_one_whose_segments_were_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
    store = new_store()
    land_each(store, range(7))
    held = snapshot(store)
    assert held.manifest.segments
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    with pytest.raises(StaleSnapshot, match="run it again"):
        numbers(held)


def test_what_the_log_still_names_is_damage() -> None:
    store = merged_lake(*range(4))
    (file,) = files_in(store)
    assert file.merge is not None
    store.delete(KEYS.under(file.merge.path))
    with pytest.raises(CorruptDocument, match="restore"):
        numbers(snapshot(store), Selection(since=2))
    store.delete(KEYS.under(file.path))
    with pytest.raises(MissingFile, match="backup"):
        numbers(snapshot(store))
