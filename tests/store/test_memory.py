"""The store in memory, and the wrappers over it that must not change what it does."""

from __future__ import annotations

import uuid

import pytest

from singerlake.store import Counting, MemoryStore, Retrying, Store, TimeLimited
from tests.store.conformance import StoreContract


def new_store() -> MemoryStore:
    return MemoryStore(uuid.uuid4().hex)


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return new_store()


class TestRetrying(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return Retrying(new_store())


class TestCounting(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return Counting(new_store())


class TestTimeLimited(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return TimeLimited(new_store(), 60)


def test_two_names_are_two_stores() -> None:
    one, other = new_store(), new_store()
    one.create("a", b"1")
    assert [*other.list("")] == []
