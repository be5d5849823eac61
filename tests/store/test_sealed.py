"""A secret stays in the process that it was given to, and is found again where it was lent."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import BadLocation, StoreError
from singerlake.store import open_store, sealed
from singerlake.store.generic import FsspecStore
from singerlake.store.secrets import scrub

GIVEN: dict[str, Any] = {
    "key": "AKIA",
    "secret": "hunter2",
    "client_kwargs": {"aws_session_token": "hunter3", "endpoint_url": "http://host:1"},
    "credential": {"user": "hunter4", "scopes": 2},
    "anon": False,
    "token": {"from_env": "LAKE_TOKEN"},
    "password": "",
}

names = st.text(max_size=8) | st.sampled_from(["key", "secret", "from_env", "token", "path"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.dictionaries(names, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)


def test_every_secret_is_replaced_and_nothing_else() -> None:
    found = sealed.seal(GIVEN)
    assert "hunter" not in json.dumps(found)
    assert "AKIA" not in json.dumps(found)
    assert found["client_kwargs"]["endpoint_url"] == "http://host:1"
    assert (found["anon"], found["password"]) == (False, "")
    assert found["credential"]["scopes"] == 2
    assert found["token"] == {"from_env": "LAKE_TOKEN"}


@pytest.mark.parametrize(
    "options",
    [
        {name: "hunter2"}
        for name in (
            "account_key",
            "sas_token",
            "connection_string",
            "private_key",
            "passwd",
            "pwd",
            "pass_phrase",
            "tok",
            "auth",
            "Authorization",
        )
    ]
    + [
        {"client_kwargs": {"headers": {"X-My": "hunter2"}}},
        {"auth": ("me", "hunter2")},
        {"credential": [{"user": "hunter2"}]},
        {"client_kwargs": {"endpoint_url": "http://me:hunter2@host:9000"}},
        {"config_kwargs": {"proxies": {"https": "http://me:hunter2@proxy"}}},
    ],
    ids=str,
)
def test_secrets_are_known_by_many_names_and_in_lists_and_urls(options: dict[str, Any]) -> None:
    found = sealed.seal(options)
    assert "hunter2" not in repr(found)
    assert sealed.literal_secrets(options) != []
    assert sealed.unseal(found) == options
    assert "hunter2" not in scrub("no hunter2 here, and no http://me:hunter2@host", options)


def test_what_is_sealed_is_unsealed_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_TOKEN", "hunter5")
    assert sealed.unseal(sealed.seal(GIVEN)) == {**GIVEN, "token": "hunter5"}


@given(st.dictionaries(names, values, max_size=4))
def test_any_options_come_back_and_are_sealed_once(options: dict[str, Any]) -> None:
    once = sealed.seal(options)
    assert sealed.seal(once) == once
    assert sealed.literal_secrets(once) == []
    if not any(isinstance(value, dict) for _, value in sealed._secrets(options)):
        assert sealed.unseal(once) == options


def test_the_names_of_literal_secrets_are_told_with_their_place() -> None:
    assert sealed.literal_secrets(GIVEN) == [
        "key",
        "secret",
        "client_kwargs.aws_session_token",
        "credential.user",
    ]


def test_a_sealed_secret_and_one_of_a_variable_are_blotted_out_of_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAKE_TOKEN", "hunter5")
    told = scrub("hunter2 hunter3 hunter4 hunter5 stays", sealed.seal(GIVEN))
    assert told == "*** *** *** *** stays"


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(BadLocation, match="secret is to come from the environment variable NO_SU"):
        open_store("s3://bucket/lake", {"secret": {"from_env": "NO_SUCH_ONE"}}).read("a")


ELSEWHERE = """
import pickle, sys
from singerlake.errors import BadLocation, StoreError
store = pickle.loads(sys.stdin.buffer.read())
try:
    print(store._connection.get()[0].storage_options)
except BadLocation as error:
    print(error)
"""


def elsewhere(store: FsspecStore, environment: dict[str, str]) -> str:
    """What the store's file system is made with in another process."""
    return subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        input=pickle.dumps(store),
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()


def test_what_no_environment_can_hold_is_not_lent() -> None:
    sealed.seal({"secret": "hunter\0"})
    assert "hunter\0" not in sealed.lent().values()


def test_another_process_connects_with_what_it_was_lent_and_tells_what_it_lacks() -> None:
    store = FsspecStore("memory://lake", {"token": "hunter2", "my": {"key": "hunter3"}})
    assert b"hunter" not in pickle.dumps(store)
    assert "{'token': 'hunter2', 'my': {'key': 'hunter3'}" in elsewhere(store, sealed.lent())
    told = elsewhere(store, {})
    assert "token is a secret that was given to another process" in told
    assert "singerlake.spark.lend" in told


def test_a_password_in_a_url_is_not_pickled_and_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FsspecStore("ftp://me:hunter2@host:21/lake")
    assert b"hunter2" not in pickle.dumps(store)
    assert store.url == "ftp://host:21/lake"
    asked: list[str] = []

    def url_to_fs(url: str, **options: Any) -> tuple[object, str]:
        asked.append(url)
        return object(), "lake"

    monkeypatch.setattr("fsspec.url_to_fs", url_to_fs)
    pickle.loads(pickle.dumps(store))._connection.get()
    assert asked == ["ftp://me:hunter2@host:21/lake"]


@pytest.mark.parametrize(
    "url", ["abfs://container@account.dfs.core.windows.net/lake", "sftp://me@host/lake"]
)
def test_an_address_without_a_password_goes_to_other_processes_as_it_is(url: str) -> None:
    address = FsspecStore(url)._connection._make.args[1]  # type: ignore[attr-defined]
    assert address == {"address": url}


def test_the_container_in_an_address_of_azure_is_no_user() -> None:
    url = "abfs://container@account.dfs.core.windows.net/lake"
    assert FsspecStore(url).url == url


def test_a_cause_that_holds_a_secret_is_not_shown_with_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "hunter" + "2"

    def url_to_fs(url: str, **options: Any) -> tuple[object, str]:
        raise OSError(f"login with {secret} failed")

    monkeypatch.setattr("fsspec.url_to_fs", url_to_fs)
    for store in (
        FsspecStore("ftp://host/lake", {"password": secret}),
        FsspecStore(f"ftp://me:{secret}@host/lake"),
    ):
        with pytest.raises(StoreError) as told:
            store.read("a")
        assert secret not in "".join(traceback.format_exception(told.value))
