"""Servers that ignore conditions and answer 200, by a stand-in: moto, with conditions dropped."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Container
from typing import Any

import pytest
from s3fs import S3FileSystem

from singerlake.errors import (
    Changed,
    NotFound,
    PermissionDenied,
    StoreError,
    Unavailable,
    Unsupported,
)
from singerlake.store import Promise, Retrying, Store
from singerlake.store.probe import Support, probe
from singerlake.store.s3 import S3Store
from tests.faults import proxy as proxies
from tests.faults.proxy import Fault, proxied
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


WEAK = Support(create=False, replace=False, delete=False)
FULL = Support(create=True, replace=True, delete=True)


@pytest.mark.parametrize("error", [None, Unsupported("501")])
def test_a_server_that_takes_or_does_not_know_every_condition_is_weak(
    error: Exception | None,
) -> None:
    server = Scripted(error)
    assert probe(server) == WEAK
    assert server.removed == 1


@pytest.mark.parametrize("error", [Changed("412"), NotFound("404"), StoreError("400")])
def test_a_server_that_refuses_every_condition_is_not_called_weak(error: StoreError) -> None:
    """It may be a conditional one that has gone wrong, and then others rely on its conditions."""
    server = Scripted(error)
    with pytest.raises(Unavailable, match=f"expected an answer .* found: {error}.* Run again"):
        probe(server)
    assert server.removed == 1


def test_a_silent_server_is_not_called_weak() -> None:
    server = Scripted(Unavailable("no answer"))
    with pytest.raises(Unavailable):
        probe(server)
    assert server.removed == 1


class Shelf:
    """A server that keeps conditions, or none, and whose answer to one request is odd."""

    def __init__(self, at: int, odd: Exception, *, applied: bool = False, weak: bool = False):
        self.at, self.odd, self.applied, self.weak = at, odd, applied, weak
        self.requests = 0
        self.objects: dict[str, str] = {}

    def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> str:
        def apply() -> str:
            self._require(key, if_absent, if_version)
            self.objects[key] = str(data)
            return self.objects[key]

        return self._answer(apply)

    def remove(self, key: str, *, if_version: str | None = None) -> None:
        def apply() -> str:
            self._require(key, False, if_version)
            return self.objects.pop(key, "")

        self._answer(apply)

    def _require(self, key: str, if_absent: bool, if_version: str | None) -> None:
        found = self.objects.get(key)
        if not self.weak and ((if_absent and found) or if_version not in (None, found)):
            raise Changed("412")

    def _answer(self, apply: Callable[[], str]) -> str:
        self.requests += 1
        if self.requests != self.at:
            return apply()
        if self.applied:
            apply()
        raise self.odd


PROBE = range(1, 7)
"""The requests of a probe."""


@pytest.mark.parametrize("at", PROBE)
@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("odd", [Changed("412"), NotFound("404"), StoreError("400")])
def test_one_odd_answer_does_not_make_a_server_weak(
    at: int, applied: bool, odd: StoreError
) -> None:
    server = Shelf(at, odd, applied=applied)
    try:
        found = probe(server)
    except Unavailable:
        found = probe(server)
    assert (found.create, found.replace) == (True, True)


@pytest.mark.parametrize("at", PROBE)
@pytest.mark.parametrize("odd", [NotFound("404"), StoreError("400"), Unavailable("503")])
def test_one_odd_answer_does_not_hide_that_a_server_is_weak(at: int, odd: StoreError) -> None:
    server = Shelf(at, odd, weak=True)
    try:
        found = probe(server)
    except Unavailable:
        found = probe(server)
    assert found == WEAK


@pytest.mark.parametrize("at", PROBE)
def test_a_denial_is_told_as_one(at: int) -> None:
    with pytest.raises(PermissionDenied):
        probe(Shelf(at, PermissionDenied("403")))


@pytest.mark.parametrize(("weak", "found"), [(False, FULL), (True, WEAK)])
def test_control_without_an_odd_answer_a_probe_is_six_requests(weak: bool, found: Support) -> None:
    server = Shelf(0, Exception(), weak=weak)
    assert probe(server) == found
    assert (server.requests, server.objects) == (6, {})


ODD: dict[str, Fault] = {
    "sent twice": proxies.sent_twice,
    "412, though it was applied": proxies.applied_but_refused(412, "PreconditionFailed"),
    "400 IncompleteBody": proxies.refused(400, "IncompleteBody"),
    "400 BadDigest": proxies.refused(400, "BadDigest"),
    "400 InvalidRequest": proxies.refused(400, "InvalidRequest"),
    "404": proxies.refused(404, "NoSuchKey"),
}


def promised(server: S3Server, fault: Fault, struck: Container[int]) -> tuple[Promise, int]:
    """What is found out where these requests meet the fault, and how many did."""
    with proxied(server) as proxy:
        count = itertools.count(1)
        proxy.plan = lambda method, path: fault if next(count) in struck else None
        inner = S3Store(f"s3://{server.new_bucket()}/lake", proxy.server.storage_options())
        return Retrying(inner, sleep=lambda seconds: None).promise(), proxy.faults


@pytest.mark.parametrize("at", [2, 4])
@pytest.mark.parametrize("name", ODD)
def test_after_one_odd_answer_the_store_is_tried_again(
    name: str, at: int, moto_server: S3Server
) -> None:
    assert promised(moto_server, ODD[name], {at}) == (Promise.CONDITIONAL, 1)


def test_odd_answers_without_end_are_an_error(moto_server: S3Server) -> None:
    with pytest.raises(Unavailable, match=r"no such object.*gave up after 8 attempts"):
        promised(moto_server, ODD["404"], range(1, 1000))


@pytest.mark.parametrize("status", [400, 501])
def test_a_server_that_has_not_implemented_conditions_is_weak(
    status: int, moto_server: S3Server
) -> None:
    fault = proxies.refused(status, "NotImplemented")
    assert promised(moto_server, fault, {2, 3}) == (Promise.BEST_EFFORT, 2)
