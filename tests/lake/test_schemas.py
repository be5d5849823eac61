"""The schemas of a stream's versions, from whatever can still be read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from singerlake.format import manifest as manifests
from singerlake.format.keys import catalogue
from singerlake.lake import Lake, check, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.schemas import hashes, in_use, schemas
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Counting, Store
from tests.lake.landing import (
    KEYS,
    PATIENT,
    QUICK,
    STREAM,
    TAP,
    edit,
    files_in,
    land,
    land_each,
    new_store,
    objects_in,
    overwrite,
    paths_in,
    put_orphan,
    schema_hash,
)

HASHES = [schema_hash(version=version) for version in (1, 2, 3)]


def test_every_version_is_found_in_the_catalogue_or_in_a_file() -> None:
    store = new_store()
    for version in (1, 2, 3):
        land(store, [version], version=version)
    hashes = [schema_hash(version=version) for version in (1, 2, 3)]
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    found = schemas(snapshot, hashes)
    assert {hashed: schema.hash() for hashed, schema in found.items()} == dict(
        zip(hashes, hashes, strict=True)
    )
    assert list(schemas(snapshot, [hashes[1]])) == [hashes[1]]


def test_a_damaged_file_is_passed_over_for_another_of_its_version() -> None:
    store = new_store()
    land(store, [1])
    land(store, [2])
    store.delete(catalogue(TAP))
    first, second = files_in(store)
    overwrite(store, KEYS.under(first.path), b"not gzip")
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    assert list(schemas(snapshot, [schema_hash()])) == [schema_hash()]
    overwrite(store, KEYS.under(second.path), b"not gzip")
    assert schemas(snapshot, [schema_hash(), "unknown"]) == {}


@pytest.fixture
def long_log(monkeypatch: pytest.MonkeyPatch) -> Store:
    """Three versions, the first two of which are in segments of segments."""
    monkeypatch.setattr(manifests, "FAN_OUT", 3)
    store = new_store()
    land_each(store, range(20), version=1)
    land_each(store, range(20, 40), version=2)
    land_each(store, range(40, 60), version=3)
    return store


def requests(store: Store) -> dict[str, int]:
    """What it costs to get the schemas of all versions, once there is a snapshot."""
    counting = Counting(store)
    snapshot = Lake(counting).stream(TAP, STREAM).snapshot()
    counting.reset()
    found = schemas(snapshot, HASHES)
    assert {hashed: schema.hash() for hashed, schema in found.items()} == dict(
        zip(HASHES, HASHES, strict=True)
    )
    return dict(counting.counts)


ONE_FOR_EACH = {"read": 1, "open": 2}
"""The catalogue, and a file of each version that is not in it."""


def test_the_schemas_of_a_long_log_cost_one_file_for_each_version(long_log: Store) -> None:
    assert requests(long_log) == ONE_FOR_EACH


@pytest.mark.parametrize("tidy", [False, True])
@pytest.mark.parametrize(
    ("until", "used"), [(0, 0), (1, 1), (20, 1), (21, 2), (40, 2), (41, 3), (60, 3), (99, 3)]
)
def test_up_to_a_number_there_are_the_versions_of_the_files_up_to_there(
    long_log: Store, tidy: bool, until: int, used: int
) -> None:
    if tidy:
        vacuum_and_purge(long_log)
    snapshot = Lake(long_log).stream(TAP, STREAM).snapshot()
    assert hashes(snapshot, until) == HASHES[:used]
    assert in_use(snapshot, until) == (HASHES[used - 1] if used else "")
    assert hashes(snapshot) == HASHES


def test_the_versions_of_the_end_cost_nothing_and_a_single_one_costs_one_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 3)
    store = new_store()
    land_each(store, range(30))
    counting = Counting(store)
    snapshot = Lake(counting).stream(TAP, STREAM).snapshot()
    counting.reset()
    assert hashes(snapshot, 30) == HASHES[:1]
    assert not counting.counts
    assert hashes(snapshot, 2) == HASHES[:1]
    assert dict(counting.counts) == {"read": 2}, "a segment of segments, and one in it"


def vacuum_and_purge(store: Store) -> None:
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT))
    purge(store, KEYS, timedelta(0))


def rebuild_from_the_manifest(store: Store) -> None:
    """The first file of each version is gone."""
    for hashed in HASHES:
        path = next(path for path in paths_in(store) if path.startswith(hashed))
        store.delete(KEYS.under(path))
    rebuild(store)


def rebuild_without_a_manifest(store: Store) -> None:
    store.delete(KEYS.manifest)
    rebuild(store)


@pytest.mark.parametrize(
    "change", [vacuum_and_purge, rebuild_from_the_manifest, rebuild_without_a_manifest]
)
def test_each_version_names_a_file_of_the_log_whatever_became_of_its_first(
    long_log: Store, change: Callable[[Store], None]
) -> None:
    for _ in range(2):
        change(long_log)
        versions = Lake(long_log).stream(TAP, STREAM).snapshot().manifest.versions
        assert {version.path for version in versions.values()} <= set(paths_in(long_log))
        assert requests(long_log) == ONE_FOR_EACH


def forget_paths(store: Store) -> None:
    """The manifest as earlier versions wrote it."""

    def change(body: dict[str, dict[str, dict[str, str]]]) -> None:
        for version in body["versions"].values():
            del version["path"]

    edit(store, KEYS.manifest, change)


def test_versions_of_an_older_manifest_are_searched_and_get_their_paths_with_time(
    long_log: Store,
) -> None:
    forget_paths(long_log)
    before = requests(long_log)
    assert before["open"] == 2
    assert before["read"] > 2
    put_orphan(long_log, 100, version=1)
    check(long_log, fix=True, times=QUICK)
    versions = Lake(long_log).stream(TAP, STREAM).snapshot().manifest.versions
    assert versions[HASHES[0]].path == paths_in(long_log)[-1]
    vacuum_and_purge(long_log)
    assert requests(long_log) == ONE_FOR_EACH
    forget_paths(long_log)
    rebuild(long_log)
    assert requests(long_log) == ONE_FOR_EACH


def test_a_path_that_leads_nowhere_costs_a_search_and_nothing_else(long_log: Store) -> None:
    def change(body: dict[str, dict[str, dict[str, str]]]) -> None:
        newest = body["versions"][HASHES[2]]["path"]
        body["versions"][HASHES[0]]["path"] = newest
        body["versions"][HASHES[1]]["path"] = f"{HASHES[1]}/nothing"

    edit(long_log, KEYS.manifest, change)
    assert requests(long_log)["read"] > 2
    assert len(objects_in(long_log, ".singer.gz")) == 60
