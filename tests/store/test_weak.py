"""Servers that ignore conditions and answer 200, by a stand-in: moto, with conditions dropped."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from s3fs import S3FileSystem

from singerlake.errors import Changed, Unavailable
from singerlake.store import Promise, Store
from singerlake.store.probe import Support, probe
from singerlake.store.s3 import S3Store
from tests.servers import S3Server
from tests.store.conformance import StoreContract

SEND = S3FileSystem._call_s3


def drop(monkeypatch: pytest.MonkeyPatch, *dropped: tuple[str, str]) -> None:
    """From now on, the server does not see these conditions of these methods."""

    async def send(self: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        kept = {name: kwargs[name] for name in kwargs if (method, name) not in dropped}
        return await SEND(self, method, *args, **kept)

    monkeypatch.setattr(S3FileSystem, "_call_s3", send)


CREATE = [("put_object", "IfNoneMatch"), ("complete_multipart_upload", "IfNoneMatch")]
REPLACE = ("put_object", "IfMatch")
DELETE = ("delete_object", "IfMatch")


@pytest.fixture
def store(moto_server: S3Server) -> S3Store:
    return S3Store(f"s3://{moto_server.new_bucket()}/lake", moto_server.storage_options())


class TestIgnoresEveryCondition(StoreContract):
    promise = Promise.BEST_EFFORT
    races = False

    @pytest.fixture
    def store(self, moto_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Store:
        drop(monkeypatch, *CREATE, REPLACE, DELETE)
        return S3Store(f"s3://{moto_server.new_bucket()}/lake", moto_server.storage_options())


class TestIgnoresTheConditionOfADelete(StoreContract):
    races = False

    @pytest.fixture
    def store(self, moto_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Store:
        drop(monkeypatch, DELETE)
        return S3Store(f"s3://{moto_server.new_bucket()}/lake", moto_server.storage_options())


@pytest.mark.parametrize("dropped", [CREATE, [REPLACE]])
def test_one_ignored_condition_is_enough_to_be_weak(
    store: S3Store, monkeypatch: pytest.MonkeyPatch, dropped: list[tuple[str, str]]
) -> None:
    drop(monkeypatch, *dropped)
    assert store.promise() is Promise.BEST_EFFORT


def test_says_so_once(
    store: S3Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    drop(monkeypatch, *CREATE, REPLACE)
    with caplog.at_level(logging.WARNING, "singerlake.store"):
        version = store.create("a", b"1")
        store.replace("a", b"2", version)
        assert store.promise() is Promise.BEST_EFFORT
    (message,) = caplog.messages
    assert store.url in message
    assert "docs/spec.md#weak-stores" in message


class Scripted:
    """A stand-in for a server whose conditional writes fail in a given way."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.removed = 0

    def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> str:
        if self.error and (if_absent or if_version):
            raise self.error
        return "version"

    def remove(self, key: str, *, if_version: str | None = None) -> None:
        if self.error and if_version:
            raise self.error
        self.removed += if_version is None


def test_a_server_that_refuses_every_condition_is_weak() -> None:
    server = Scripted(Changed("always"))
    assert probe(server) == Support(create=True, replace=False, delete=True)
    assert server.removed == 1


def test_a_silent_server_is_not_called_weak() -> None:
    server = Scripted(Unavailable("no answer"))
    with pytest.raises(Unavailable):
        probe(server)
    assert server.removed == 1
