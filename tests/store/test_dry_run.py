"""A dry run does all that a store does, and the store below it never changes."""

from __future__ import annotations

import uuid

import pytest

from singerlake.errors import Changed, NotFound
from singerlake.store import DryRun, MemoryStore, Store
from singerlake.store.s3 import S3Store
from tests.servers import S3Server
from tests.store.conformance import StoreContract, keys


def new_store() -> MemoryStore:
    return MemoryStore(uuid.uuid4().hex)


class TestDryRun(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return DryRun(new_store())


def test_what_is_below_is_seen_and_never_changed() -> None:
    below = new_store()
    versions = {key: below.create(key, key.encode()) for key in ("a/read", "a/old", "a/gone")}
    store = DryRun(below)
    with store.open("a/read") as file:
        assert file.read() == b"a/read"
    store.replace("a/old", b"new", versions["a/old"])
    store.delete_if("a/gone", versions["a/gone"])
    store.create("b/made", b"made")
    assert [row.key for row in store.list("")] == ["a/old", "a/read", "b/made"]
    assert store.folders("") == ["a", "b"]
    assert store.read("a/old").data == b"new"
    with pytest.raises(NotFound):
        store.read("a/gone")
    with pytest.raises(Changed):
        store.replace("a/old", b"newer", versions["a/old"])
    store.create("a/gone", b"again")
    assert store.read("a/gone").data == b"again"
    assert {row.key: below.read(row.key).data for row in below.list("")} == {
        key: key.encode() for key in versions
    }


def test_lists_what_no_key_can_be(moto_server: S3Server) -> None:
    bucket = moto_server.new_bucket()
    below = S3Store(f"s3://{bucket}/lake", moto_server.storage_options())
    for key in ("raw//manifest.json", "raw/../up", "raw/old"):
        moto_server.client().put_object(Bucket=bucket, Key=f"lake/{key}", Body=b"{}")
    store = DryRun(below)
    assert [*store.list("raw")] == [*below.list("raw")]
    assert "raw//manifest.json" in keys(store)
    store.delete("raw/old")
    assert "raw/old" not in keys(store)
