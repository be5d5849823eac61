"""The lock is polite, and the commit is what is safe: shown by interleavings driven by hand."""

from __future__ import annotations

import json

import pytest

from singerlake.errors import NotFound
from singerlake.store import Store
from tests.lake.faulty_store import (
    LOCK_CREATE,
    LOCK_READ,
    MANIFEST_REPLACE,
    At,
    Gate,
    Pausing,
    Recording,
    Unlocked,
    in_thread,
)
from tests.lake.landing import (
    QUICK,
    assert_clean,
    assert_once_each,
    land,
    new_store,
    numbers_in,
    objects_in,
)
from tests.lake.locking import until


class NaiveWriter:
    """The plain protocol: write the lock, read it back, then put the manifest, no conditions."""

    def __init__(self, store: Store, name: str, folder: str = "one") -> None:
        self._store, self._name, self._lock = store, name, f"{folder}/singerlake.lock"
        self._manifest: list[str] = []

    def sees_no_lock(self) -> None:
        with pytest.raises(NotFound):
            self._store.read(self._lock)

    def writes_lock(self) -> None:
        self._put(self._lock, self._name)

    def verifies_lock(self) -> None:
        assert self._store.read(self._lock).data.decode() == self._name

    def reads_manifest(self) -> None:
        try:
            self._manifest = json.loads(self._store.read("manifest.json").data)
        except NotFound:
            self._manifest = []

    def puts_manifest(self) -> None:
        self._put("manifest.json", json.dumps([*self._manifest, self._name]))

    def _put(self, key: str, text: str) -> None:
        self._store.delete(key)
        self._store.create(key, text.encode())


def test_a_lock_that_is_written_and_read_back_loses_a_commit() -> None:
    store = new_store()
    a, b = NaiveWriter(store, "a"), NaiveWriter(store, "b")
    a.sees_no_lock()
    b.sees_no_lock()
    a.writes_lock()
    a.verifies_lock()
    b.writes_lock()
    b.verifies_lock()
    a.reads_manifest()
    b.reads_manifest()
    a.puts_manifest()
    b.puts_manifest()
    assert json.loads(store.read("manifest.json").data) == ["b"]  # both succeeded, a is lost


def test_even_a_perfect_lock_in_each_of_two_schema_folders_loses_a_commit() -> None:
    store = new_store()
    a, b = NaiveWriter(store, "a", "one"), NaiveWriter(store, "b", "two")
    for writer in (a, b):
        writer.sees_no_lock()
        writer.writes_lock()
        writer.verifies_lock()
    a.reads_manifest()
    b.reads_manifest()
    a.puts_manifest()
    b.puts_manifest()
    assert json.loads(store.read("manifest.json").data) == ["b"]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_ours_keeps_both_commits_where_both_writers_hold_the_lock(order: str) -> None:
    store = new_store()
    land(store, [0])
    gates = {name: Gate(MANIFEST_REPLACE) for name in "ab"}
    writers = {
        name: in_thread(land, Unlocked(Pausing(store, gates[name])), [number])
        for name, number in (("a", 1), ("b", 2))
    }
    for gate in gates.values():
        gate.wait()  # both have the lock, the same manifest, and an uploaded file
    for name in order:
        gates[name].open()
        writers[name].result()
    assert_once_each(store, 3)
    assert_clean(store)


def test_ours_keeps_both_commits_in_two_schema_folders() -> None:
    store = new_store()
    land(store, [0])
    gates = [Gate(MANIFEST_REPLACE), Gate(MANIFEST_REPLACE)]
    writers = [
        in_thread(land, Pausing(store, gate), [number], version=number)
        for number, gate in enumerate(gates, start=1)
    ]
    for gate in gates:
        gate.wait()
    assert len(objects_in(store, "singerlake.lock")) == 2
    for gate, writer in zip(gates, writers, strict=True):
        gate.open()
        writer.result()
    assert_once_each(store, 3)
    assert_clean(store)


def test_ours_lets_one_of_two_writers_in_where_both_saw_no_lock() -> None:
    """The interleaving that fools the plain lock: both are about to write it at once."""
    store = new_store()
    land(store, [0])
    gates = [Gate(LOCK_CREATE), Gate(LOCK_CREATE)]
    inside = Gate(MANIFEST_REPLACE)
    first = in_thread(land, Pausing(store, gates[0], inside), [1])
    recording = Recording(Pausing(store, gates[1]))
    second = in_thread(land, recording, [2])
    for gate in gates:
        gate.wait()
    gates[0].open()
    inside.wait()
    gates[1].open()
    until(lambda: recording.count(LOCK_READ) >= 3)
    assert recording.count(At("create", ".singer.gz")) == 0  # it waits, and wastes no upload
    inside.open()
    first.result()
    second.result()
    assert_once_each(store, 3)
    assert_clean(store)


def test_ours_keeps_the_commit_of_a_writer_whose_lock_was_taken_over() -> None:
    store = new_store()
    land(store, [0])
    gate = Gate(MANIFEST_REPLACE)
    sleeper = in_thread(land, Pausing(store, gate), [1])
    gate.wait()
    land(store, [2], times=QUICK)
    gate.open()
    sleeper.result()
    assert numbers_in(store) == [0, 2, 1]
    assert objects_in(store, "singerlake.lock") == []
    assert_clean(store)
