"""What every store has to do: a backend's test is a subclass with a fixture `store`."""

from __future__ import annotations

import io
import pickle
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from singerlake.errors import AlreadyExists, BadName, Changed, NotFound
from singerlake.store import Promise, Store

ODD_KEYS = [
    "a b/c d.txt",
    "wow!/it's/~(fine)",
    "Größe/日本語/🌊",
    "a+b=c&d/e,f;g@h:i",
    "100%/%20/%2F",
    "dots.../a../b..",
]


def keys(store: Store, prefix: str = "") -> list[str]:
    return [row.key for row in store.list(prefix)]


class _Broken(Exception):
    """What a reader raises that finds its bytes changed."""


class _Given(io.BytesIO):
    """Bytes to upload; where it `breaks`, that is noticed at the end."""

    def __init__(self, data: bytes, breaks: bool = False) -> None:
        super().__init__(data)
        self._data, self._breaks = data, breaks

    @property
    def size(self) -> int:
        return len(self._data)

    def open(self) -> _Given:
        return _Given(self._data, self._breaks)

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if self._breaks and self.tell() == len(self._data):
            raise _Broken
        return data


class StoreContract:
    promise = Promise.CONDITIONAL
    races = True  # whether the backend is atomic enough for tests of races

    def test_says_where_it_is_and_what_it_promises(self, store: Store) -> None:
        assert store.url
        assert store.promise() is self.promise
        assert keys(store) == []

    def test_reads_what_was_created(self, store: Store) -> None:
        data = bytes(range(256)) * 10
        version = store.create("a/b", data)
        assert store.read("a/b").data == data
        assert store.read("a/b").version == version == store.version("a/b")

    def test_the_size_of_an_object(self, store: Store) -> None:
        store.create("a/b", b"12345")
        assert store.size("a/b") == 5
        store.create("empty", b"")
        assert store.size("empty") == 0
        with pytest.raises(NotFound):
            store.size("a/c")

    def test_creates_from_a_reader(self, store: Store) -> None:
        data = bytes(range(256)) * 5000
        store.create_from("a", _Given(data))
        assert store.read("a").data == data
        with pytest.raises(AlreadyExists):
            store.create_from("a", _Given(b"others"))
        assert store.read("a").data == data

    def test_what_a_reader_raises_leaves_nothing(self, store: Store) -> None:
        for data in (b"", bytes(100), bytes(5 << 20)):
            with pytest.raises(_Broken):
                store.create_from("a/b", _Given(data, breaks=True))
            assert keys(store) == []

    def test_reads_again_only_what_changed(self, store: Store) -> None:
        first = store.create("a", b"1")
        found = store.read_if_changed("a", "")
        assert found is not None
        assert found[0] == store.read("a")
        assert found[0].version == first

        # A fresh object may have no validator yet. Whatever the store returns, it holds.
        again = store.read_if_changed("a", found[1])
        assert again is None or again[0] == found[0]

        second = store.replace("a", b"2", first)
        changed = store.read_if_changed("a", found[1])
        assert changed is not None
        assert changed[0].data == b"2"
        assert changed[0].version == second

        store.delete("a")
        for validator in ("", found[1], changed[1]):
            with pytest.raises(NotFound):
                store.read_if_changed("a", validator)

    def test_what_did_not_change_is_not_sent_again(self, store: Store) -> None:
        store.create("a", b"1")
        self.settle(store, "a")
        found = store.read_if_changed("a", "")
        assert found is not None
        assert found[1] != ""
        assert store.read_if_changed("a", found[1]) is None
        assert store.read_if_changed("a", found[1] + "0") is not None

    def settle(self, store: Store, key: str) -> None:
        """Make the object old enough to have a validator."""

    def test_a_missing_object_is_not_found(self, store: Store) -> None:
        store.create("folder/x", b"x")
        for key in ("nothing", "folder", "folder/y", "folder/x/y"):
            with pytest.raises(NotFound, match=key):
                store.read(key)
            with pytest.raises(NotFound):
                store.version(key)
            with pytest.raises(NotFound), store.open(key) as file:
                file.read()

    def test_create_refuses_what_exists(self, store: Store) -> None:
        version = store.create("a", b"first")
        for data in (b"second", b"", b"first"):
            with pytest.raises(AlreadyExists, match="a"):
                store.create("a", data)
        assert store.read("a").data == b"first"
        assert store.read("a").version == version

    def test_an_empty_object_is_an_object(self, store: Store) -> None:
        version = store.create("empty", b"")
        assert store.read("empty").data == b""
        assert store.read("empty").version == version
        assert [(row.key, row.size) for row in store.list("")] == [("empty", 0)]
        with store.open("empty") as file:
            assert file.read() == b""
        with store.open("empty", size=0) as file:
            assert file.read(10) == b""
        with pytest.raises(AlreadyExists):
            store.create("empty", b"full")

    def test_creates_from_a_file(self, store: Store, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"content")
        version = store.create("a/b", path)
        assert store.read("a/b").data == b"content"
        assert store.version("a/b") == version
        with pytest.raises(AlreadyExists):
            store.create("a/b", path)
        assert path.read_bytes() == b"content"
        path.write_bytes(b"")
        store.create("a/c", path)
        assert store.read("a/c").data == b""

    def test_creates_from_a_large_file_only_once(self, store: Store, tmp_path: Path) -> None:
        path = tmp_path / "file"
        block = uuid.uuid4().bytes * 65536  # 1 MiB
        path.write_bytes(block * 40)
        version = store.create("large", path)
        assert store.version("large") == version
        path.write_bytes(b"other" + block * 40)
        with pytest.raises(AlreadyExists):
            store.create("large", path)
        assert [(row.key, row.size) for row in store.list("")] == [("large", 40 << 20)]
        with store.open("large") as file:
            for _ in range(40):
                assert file.read(1 << 20) == block
            assert file.read() == b""

    def test_replaces_the_version_that_was_read(self, store: Store) -> None:
        first = store.create("a", b"1")
        second = store.replace("a", b"2", first)
        assert store.read("a").data == b"2"
        assert store.read("a").version == second != first
        store.replace("a", b"3", second)
        assert store.read("a").data == b"3"

    def test_replace_refuses_another_version(self, store: Store) -> None:
        first = store.create("a", b"1")
        store.replace("a", b"2", first)
        with pytest.raises(Changed, match="a"):
            store.replace("a", b"3", first)
        assert store.read("a").data == b"2"

    def test_replace_refuses_what_is_gone(self, store: Store) -> None:
        version = store.create("a", b"1")
        store.delete("a")
        with pytest.raises(Changed):
            store.replace("a", b"2", version)
        with pytest.raises(NotFound):
            store.read("a")

    def test_deletes(self, store: Store) -> None:
        store.create("a/b/c", b"1")
        store.create("a/d", b"1")
        store.delete("a/b/c")
        store.delete("a/b/c")
        store.delete("never/was")
        assert keys(store) == ["a/d"]
        store.create("a/b/c", b"2")
        assert store.read("a/b/c").data == b"2"

    def test_deletes_only_the_version_that_was_read(self, store: Store) -> None:
        first = store.create("a", b"1")
        second = store.replace("a", b"2", first)
        with pytest.raises(Changed):
            store.delete_if("a", first)
        assert store.read("a").data == b"2"
        store.delete_if("a", second)
        with pytest.raises(NotFound):
            store.read("a")
        with pytest.raises(Changed):
            store.delete_if("a", second)

    def test_lists_a_folder_in_order(self, store: Store) -> None:
        for key in ("ab/x", "a/z", "a/b/c", "a!", "a/b!", "b", "a/b/.hidden", ".hidden/x"):
            store.create(key, key.encode())
        assert keys(store) == ["a!", "a/b!", "a/b/c", "a/z", "ab/x", "b"]
        assert keys(store, "a") == ["a/b!", "a/b/c", "a/z"]
        assert keys(store, "a/b") == ["a/b/c"]
        assert keys(store, "b") == []
        assert keys(store, "none") == []

    def test_lists_what_lies_directly_in_a_folder_after_a_name(self, store: Store) -> None:
        for key in ("a/1", "a/2", "a/3", "a/_b/4", "a/.hidden", "a/2x/y", "ab/9", "b"):
            store.create(key, key.encode())

        def after(name: str) -> list[str]:
            return [row.key for row in store.list_folder("a", name)]

        assert after("") == ["a/1", "a/2", "a/3"]
        assert after("1") == ["a/2", "a/3"]
        assert after("2~") == ["a/3"]
        assert after("3") == []
        assert [*store.list_folder("none", "")] == []

    def test_a_listing_tells_size_and_time(self, store: Store) -> None:
        store.create("a/b", b"12345")
        (row,) = store.list("a")
        assert row.size == 5
        assert abs(row.modified - datetime.now(timezone.utc)) < timedelta(minutes=1)

    def test_deletes_only_what_was_listed(self, store: Store, tmp_path: Path) -> None:
        large = tmp_path / "large"
        large.write_bytes(bytes(40 << 20))  # in parts, where a store has those
        store.create("a/large", large)
        store.create("a/small", b"1")
        old = {row.key: row.version for row in store.list("a")}
        store.delete("a/small")
        store.create("a/small", b"another")
        with pytest.raises(Changed):
            store.delete_if("a/small", old["a/small"])
        assert store.read("a/small").data == b"another"
        store.delete_if("a/large", old["a/large"])
        with pytest.raises(Changed):
            store.delete_if("a/large", old["a/large"])
        (row,) = store.list("a")
        version = store.replace("a/small", b"a third", row.version)
        assert store.version("a/small") == version
        (row,) = store.list("a")
        store.delete_if("a/small", row.version)
        assert keys(store) == []

    def test_names_the_folders(self, store: Store) -> None:
        for key in ("b/x", "a/y/z/1", "a/y/2", "a/w w/3", "a/file", "file", ".own/x"):
            store.create(key, b"1")
        assert store.folders("") == ["a", "b"]
        assert store.folders("a") == ["w w", "y"]
        assert store.folders("a/y") == ["z"]
        assert store.folders("a/y/z") == store.folders("none") == []

    @pytest.mark.parametrize("key", ODD_KEYS)
    def test_keys_may_hold_odd_characters(self, store: Store, key: str) -> None:
        version = store.create(key, key.encode())
        assert store.read(key).data == key.encode()
        with store.open(key) as file:
            assert file.read() == key.encode()
        assert keys(store) == [key]
        assert store.folders("") == [key.split("/")[0]]
        assert keys(store, key.split("/")[0]) == [key]
        version = store.replace(key, b"2", version)
        store.delete_if(key, version)
        assert keys(store) == []

    @pytest.mark.parametrize("key", ["", "/", "/a", "a/", "a//b", "..", "a/../b", ".", "a\0", "\\"])
    def test_refuses_keys_that_lead_elsewhere(self, store: Store, key: str) -> None:
        calls: list[Callable[[], object]] = [
            lambda: store.read(key),
            lambda: store.version(key),
            lambda: store.open(key),
            lambda: store.create(key, b""),
            lambda: store.replace(key, b"", "version"),
            lambda: store.delete(key),
            lambda: store.delete_if(key, "version"),
        ]
        if key:
            calls += [lambda: [*store.list(key)], lambda: store.folders(key)]
        for call in calls:
            with pytest.raises(BadName):
                call()

    def test_opens_for_reading_in_pieces(self, store: Store) -> None:
        data = b"".join(b"line %d\n" % number for number in range(200_000))
        store.create("a", data)
        for size in (None, len(data)):
            with store.open("a", size=size) as file:
                assert file.read(6) == b"line 0"
                assert file.readline() == b"\n"
                assert next(iter(file)) == b"line 1\n"
                assert file.tell() == 14
                assert file.read() == data[14:]
                assert file.read() == b""
                file.seek(1_000_000)
                assert file.read(5) == data[1_000_000:1_000_005]
                assert file.seek(-7, io.SEEK_END) == len(data) - 7
                assert file.read(100) == data[-7:]
            assert file.closed

    def test_pickles(self, store: Store) -> None:
        store.create("a", b"1")
        copy: Store = pickle.loads(pickle.dumps(store))
        assert copy.url == store.url
        assert copy.promise() is self.promise
        assert copy.read("a").data == b"1"
        copy.create("b", b"2")
        assert store.read("b").data == b"2"
        assert pickle.loads(pickle.dumps(copy)).read("b").data == b"2"

    def test_sweeps_nothing_that_is_listed(self, store: Store) -> None:
        store.create("a", b"1")
        assert store.sweep(timedelta(days=1), "") == 0
        store.sweep(timedelta(seconds=-10), "")
        assert keys(store) == ["a"]

    def test_one_of_many_creates_wins(self, store: Store) -> None:
        if not self.races:
            pytest.skip("this backend is not atomic")
        store.promise()
        barrier = threading.Barrier(16)

        def create(key: str, number: int) -> bool:
            barrier.wait()
            try:
                store.create(key, b"%d" % number)
            except AlreadyExists:
                return False
            return True

        with ThreadPoolExecutor(16) as pool:
            for key in ("race/1", "race/2", "race/3"):
                won = [*pool.map(create, [key] * 16, range(16))]
                assert won.count(True) == 1
                assert store.read(key).data == b"%d" % won.index(True)

    def test_no_replace_is_lost(self, store: Store) -> None:
        if not self.races:
            pytest.skip("this backend is not atomic")
        store.create("counter", b"0")

        def count() -> None:
            for _ in range(20):
                while True:
                    stored = store.read("counter")
                    try:
                        store.replace("counter", b"%d" % (int(stored.data) + 1), stored.version)
                    except Changed:
                        continue
                    break

        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(count) for _ in range(8)]:
                future.result()
        assert store.read("counter").data == b"160"
