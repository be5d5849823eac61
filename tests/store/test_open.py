"""From an address to a store."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from singerlake.errors import BadLocation, NotFound
from singerlake.store import LocalStore, MemoryStore, Retrying, TimeLimited, open_store
from singerlake.store.generic import FsspecStore
from singerlake.store.s3 import S3Store


def test_local_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    lake = tmp_path / "my lake"
    for url in (lake, str(lake), f"file://{lake}", lake.as_uri(), "my lake", "~/my lake"):
        store = open_store(url)
        assert isinstance(store, LocalStore)
        assert store.url == str(lake)


@pytest.mark.parametrize("url", ["s3://bucket/lake", "s3a://bucket/lake/", "S3://bucket/lake"])
def test_s3(url: str) -> None:
    store = open_store(url, {"anon": True})
    assert isinstance(store, Retrying)
    assert isinstance(store.inner, S3Store)
    assert store.url == "s3://bucket/lake"


def test_memory() -> None:
    name = uuid.uuid4().hex
    store = open_store(f"memory://{name}/")
    assert isinstance(store, MemoryStore)
    store.create("a", b"1")
    assert open_store(f"memory://{name}").read("a").data == b"1"


def test_others(tmp_path: Path) -> None:
    store = open_store("ftp://user:hunter2@host/lake")
    assert isinstance(store, Retrying)
    assert isinstance(store.inner, TimeLimited)
    assert isinstance(store.inner.inner, FsspecStore)
    assert store.url == "ftp://host/lake"
    assert open_store("ftp://user:p@SECRET@host/lake").url == "ftp://host/lake"


@pytest.mark.parametrize("password", ["SEC/RET", "SECRET/a@b"])
def test_a_password_with_a_slash_is_refused_and_not_shown(password: str) -> None:
    """fsspec would read a port out of it, and quote it."""
    with pytest.raises(BadLocation, match="storage_options") as caught:
        open_store(f"ftp://user:{password}@host/lake").read("a")
    assert "SEC" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "empty"),
        ("nosuch://x/y", "nosuch://"),
        ("simplecache::s3://bucket", "simplecache"),
        ("file://host/path", "host"),
        ("file:///lake#old", "%23"),
        ("file:///lake?x=1", "%3F"),
        ("file://[::1", "no URL"),
        ("~nobody-has-this-name/lake", "home"),
        ("a\0b", "null"),
        ("~a\0b/lake", "null"),
        ("file:///a%00b", "null"),
        ("s3://", "bucket"),
    ],
)
def test_addresses_that_are_none(url: str, message: str) -> None:
    with pytest.raises(BadLocation, match=message):
        open_store(url)


@pytest.mark.parametrize("url", ["s3:/bucket/lake", "S3:/b", "gs:/b/lake", "file:/lake", "s3:/"])
def test_a_url_that_lacks_a_slash_is_not_taken_for_a_folder(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scheme = url.partition(":")[0]
    with pytest.raises(BadLocation, match=f"write {scheme}://"):
        open_store(url)
    with pytest.raises(BadLocation, match="write s3://"):
        open_store(Path("s3://bucket/lake"))  # which is where pathlib drops the slash
    assert open_store(f"./{url}").url == str(tmp_path / url)
    (tmp_path / url).mkdir(parents=True)
    assert open_store(url).url == str(tmp_path / url)


def test_a_password_in_a_url_that_lacks_a_slash_is_not_shown() -> None:
    with pytest.raises(BadLocation) as caught:
        open_store("s3:/AKIAEXAMPLE:hunter2@bucket/lake")
    assert not any(part in str(caught.value) for part in ("AKIA", "hunter2"))


@pytest.mark.parametrize("path", ["c:/lake", "a:b/lake", "10:/lake"])
def test_a_drive_or_a_colon_in_a_name_is_a_folder(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store(path).url == str(tmp_path / path)


def test_a_loop_of_links_is_not_taken_for_a_missing_home(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises((BadLocation, NotFound), match="loop") as caught:  # by Python's version
        open_store(loop / "lake").read("a")
    assert "home" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "package", "advice"),
    [
        ("gs://bucket/lake", "gcsfs", r"pip install \"singerlake\[gcs\]\""),
        ("abfs://box@account/lake", "adlfs", r"pip install \"singerlake\[azure\]\""),
    ],
)
def test_a_missing_package_is_named(
    url: str, package: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BadLocation, match=advice):
        open_store(url)


def test_options_of_the_wrong_kind(tmp_path: Path) -> None:
    with pytest.raises(BadLocation, match="mapping"):
        open_store("s3://bucket", "key=x")  # type: ignore[arg-type]
    with pytest.raises(BadLocation, match="secret") as caught:
        open_store(tmp_path, {"secret": "hunter2"})
    assert "hunter2" not in str(caught.value)


def test_importing_and_opening_a_folder_is_quick(tmp_path: Path) -> None:
    code = (
        # For Python 3.10 there is only a filelock that imports asyncio by itself.
        "import sys; import filelock; there = set(sys.modules);"
        "from singerlake.store import open_store; open_store(sys.argv[1]);"
        "heavy = {'s3fs', 'fsspec', 'botocore', 'aiohttp', 'asyncio'} & (set(sys.modules) - there);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
