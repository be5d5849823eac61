"""S3, on two servers: a real one for races, and moto."""

from __future__ import annotations

import os
import pickle
import socket
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from s3fs import S3FileSystem

from singerlake.errors import (
    AlreadyExists,
    BadLocation,
    Changed,
    CorruptDocument,
    OutcomeUnknown,
    PermissionDenied,
    StoreError,
    Unavailable,
)
from singerlake.store import Store, base, s3_requests
from singerlake.store.probe import Support
from singerlake.store.s3 import S3Store
from tests.faults.proxy import proxied, refused
from tests.servers import S3Server
from tests.store.conformance import StoreContract, keys


def new_store(server: S3Server, path: str = "/some/lake", **options: Any) -> S3Store:
    return S3Store(f"s3://{server.new_bucket()}{path}", server.storage_options() | options)


class S3Contract(StoreContract):
    def test_lists_more_than_a_page(self, store: Store) -> None:
        store.promise()
        expected = [f"many/{number:04}" for number in range(1100)]
        with ThreadPoolExecutor(16) as pool:
            [*pool.map(lambda key: store.create(key, b""), expected)]
        assert keys(store) == expected
        assert store.folders("") == ["many"]


class TestSeaweedFS(S3Contract):
    @pytest.fixture
    def store(self, seaweedfs: S3Server) -> Store:
        return new_store(seaweedfs)


class TestMoto(S3Contract):
    races = False

    @pytest.fixture
    def store(self, moto_server: S3Server) -> Store:
        return new_store(moto_server)


class TestRootOfABucket(StoreContract):
    races = False

    @pytest.fixture
    def store(self, moto_server: S3Server) -> Store:
        return new_store(moto_server, "")


@pytest.fixture
def store(moto_server: S3Server) -> S3Store:
    return new_store(moto_server)


def test_what_is_too_large_for_a_document_is_not_read_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create("x", b"12345678")
    monkeypatch.setattr(base, "LARGEST_DOCUMENT", 7)
    with pytest.raises(CorruptDocument, match="/x: expected a document of at most 7 bytes"):
        store.read("x")


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that s3fs sends, by name."""
    from s3fs import S3FileSystem

    sent: list[str] = []
    original = S3FileSystem._call_s3

    async def counted(self: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        sent.append(method)
        return await original(self, method, *args, **kwargs)

    monkeypatch.setattr(S3FileSystem, "_call_s3", counted)
    return sent


def test_one_request_for_each_call(store: S3Store, requests: list[str]) -> None:
    store.promise()
    assert len(requests) == 6
    requests.clear()
    version = store.create("a", b"1")
    version = store.replace("a", b"2", version)
    store.read("a")
    store.open("a").read()
    store.delete_if("a", version)
    store.delete("a")
    assert requests == [
        "put_object",
        "put_object",
        "get_object",
        "get_object",
        "delete_object",
        "delete_object",
    ]


def test_leaves_no_probe_and_no_upload(moto_server: S3Server, tmp_path: Any) -> None:
    bucket = moto_server.new_bucket()
    store = S3Store(f"s3://{bucket}/lake", moto_server.storage_options())
    large = tmp_path / "large"
    large.write_bytes(bytes(33 << 20))
    store.create("a", b"1")
    with pytest.raises(AlreadyExists):
        store.create("a", large)
    client = moto_server.client()
    assert [row["Key"] for row in client.list_objects_v2(Bucket=bucket)["Contents"]] == ["lake/a"]
    assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)


def test_an_upload_that_may_not_be_aborted_is_refused_for_its_own_reason(
    moto_server: S3Server, tmp_path: Any
) -> None:
    """A file that exists already makes the writer take another name; a denial would stop it."""
    large = tmp_path / "large"
    large.write_bytes(bytes(33 << 20))
    with proxied(moto_server) as proxy:
        store = new_store(proxy.server)
        store.create("a", b"1")
        proxy.plan = lambda method, path: (
            refused(403, "AccessDenied") if method == "DELETE" else None
        )
        with pytest.raises(AlreadyExists):
            store.create("a", large)
    assert proxy.faults == 1


def test_sweeps_probes_and_uploads(moto_server: S3Server) -> None:
    bucket = moto_server.new_bucket()
    store = S3Store(f"s3://{bucket}/lake", moto_server.storage_options())
    client = moto_server.client()
    client.put_object(Bucket=bucket, Key="lake/.singerlake-probe-1", Body=b"")
    for key in ("lake/raw/a", "lake/rawer/a", "lake/a", "other/raw/a"):
        client.create_multipart_upload(Bucket=bucket, Key=key)
    assert store.sweep(timedelta(seconds=-10), "raw") == 2
    assert "Contents" not in client.list_objects_v2(Bucket=bucket)
    uploads = client.list_multipart_uploads(Bucket=bucket)["Uploads"]
    left = sorted(row["Key"] for row in uploads)
    assert left == ["lake/a", "lake/rawer/a", "other/raw/a"]


def test_works_after_a_fork(store: S3Store) -> None:
    store.create("a", b"1")
    child = os.fork()
    if child == 0:
        try:
            store.create("b", store.read("a").data)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert store.read("b").data == b"1"


def test_no_such_bucket(moto_server: S3Server) -> None:
    store = S3Store("s3://no-such-bucket-here/lake", moto_server.storage_options())
    with pytest.raises(BadLocation, match="no-such-bucket-here"):
        store.read("a")
    with pytest.raises(BadLocation):
        [*store.list("")]
    with pytest.raises(BadLocation):
        store.promise()


def test_wrong_secret(seaweedfs: S3Server) -> None:
    secret = "not-the-secret-of-this-server"
    store = new_store(seaweedfs, secret=secret)
    for call in (lambda: store.read("a"), store.promise):
        with pytest.raises(PermissionDenied, match="s3:PutObject") as caught:
            call()
        assert secret not in str(caught.value)


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    store = S3Store("s3://bucket", {"endpoint_url": "http://127.0.0.1:9"})
    with pytest.raises(PermissionDenied, match="AWS_ACCESS_KEY_ID"):
        store.read("a")


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
    options = {"key": "key-of-ours", "secret": "secret-of-ours", "endpoint_url": endpoint}
    store = S3Store("s3://bucket/lake", options)
    with pytest.raises(Unavailable, match="s3://bucket/lake/a") as caught:
        store.read("a")
    assert caught.type is Unavailable
    with pytest.raises(OutcomeUnknown) as caught_write:
        store.delete("a")
    for error in (caught.value, caught_write.value):
        assert "of-ours" not in str(error)


@pytest.mark.parametrize(
    "options",
    [
        {"no_such_option": 1},
        {"config_kwargs": {"no_such_option": 1}},
        {"client_kwargs": {"no_such_option": 1}},
        {"endpoint_url": "no url"},
    ],
)
def test_options_that_do_not_work(options: dict[str, Any]) -> None:
    store = S3Store("s3://bucket", {"key": "k", "secret": "a-secret-value"} | options)
    with pytest.raises(BadLocation, match="storage_options") as caught:
        store.read("a")
    assert "a-secret-value" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3:///path",
        "s3:///u:hunter2@bucket/x",
        "s3://u:hunter2@bucket/x",
        "s3://AKIAEXAMPLE:abc/hunter2@bucket/lake",
        "s3://AKIAEXAMPLE:a@b/hunter2@bucket/lake",
        "s3://AKIAEXAMPLE:hunter2",
        "s3://b/../x",
    ],
)
def test_urls_that_name_no_lake(url: str) -> None:
    with pytest.raises(BadLocation) as caught:
        S3Store(url)
    for secret in ("hunter2", "AKIAEXAMPLE", "abc"):
        assert secret not in str(caught.value)


@pytest.mark.parametrize("prefix", ["team@home/lake", "u:p@x/lake"])
def test_a_lake_may_be_below_a_prefix_with_what_would_end_a_password(
    moto_server: S3Server, prefix: str
) -> None:
    store = new_store(moto_server, f"/{prefix}")
    assert store.url.endswith(f"/{prefix}")
    store.create("a", b"1")
    assert keys(store) == ["a"]


def test_a_bucket_may_be_an_access_point() -> None:
    url = "s3://arn:aws:s3:eu-central-1:123456789012:accesspoint:lakes/lake"
    assert S3Store(url).url == url


def test_a_reader_sees_one_object_or_fails(store: S3Store) -> None:
    """An object that is replaced under a reader is not read half and half."""
    version = store.create("a", b"1" * (9 << 20))
    file = store.open("a")
    file.read(1)
    store.replace("a", b"2" * (9 << 20), version)
    with pytest.raises(Changed):
        file.read()


def test_no_listing_is_cached(store: S3Store) -> None:
    other: Store = pickle.loads(pickle.dumps(store))
    assert keys(store) == keys(other) == []
    other.create("a/b", b"1")
    assert keys(store) == ["a/b"]
    assert store.folders("") == ["a"]


class BreaksOff(socketserver.StreamRequestHandler):
    """A stand-in for a server that applies a write, and then breaks off without an answer."""

    applied: ClassVar[list[str]] = []
    continues = True

    def handle(self) -> None:
        while line := self.rfile.readline().decode():
            headers = {}
            while header := self.rfile.readline().decode().strip():
                name, _, value = header.partition(":")
                headers[name.lower()] = value.strip()
            if "expect" in headers and self.continues:
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.rfile.read(int(headers.get("content-length", 0)))
            if not line.startswith("GET"):
                self.applied.append(line.split()[0])
                return
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nETag: "1"\r\n\r\n1')


@pytest.fixture
def broken_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Store]:
    monkeypatch.setattr(S3Store, "_supported", lambda self: Support(True, True, True))
    monkeypatch.setattr(BreaksOff, "applied", [])
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), BreaksOff) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        yield S3Store("s3://bucket", {"key": "k", "secret": "s", "endpoint_url": endpoint})
        server.shutdown()


def test_a_write_is_sent_only_once(broken_store: S3Store) -> None:
    """aiohttp would send it again: the second could be refused because of the first."""
    for call in (
        lambda: broken_store.create("a", b"1"),
        lambda: broken_store.replace("a", b"1", "version"),
        lambda: broken_store.delete("a"),
    ):
        assert broken_store.read("a").data == b"1"  # so that the connection is used again
        with pytest.raises(OutcomeUnknown):
            call()
    assert BreaksOff.applied == ["PUT", "PUT", "DELETE"]


def test_a_silent_server_is_given_up(
    broken_store: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time-out of botocore's or aiohttp's runs while a 100 Continue is awaited."""
    monkeypatch.setattr(BreaksOff, "continues", False)
    monkeypatch.setattr(s3_requests, "_PATIENCE", 0.5)
    with pytest.raises(OutcomeUnknown, match="s3://bucket/a"):
        broken_store.create("a", b"1")


def test_a_listing_that_goes_on_nowhere_is_an_error(
    store: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in: a server that forgets to tell where the next page begins."""
    store.create("a", b"1")
    send = S3FileSystem._call_s3

    async def forgetful(self: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        answer = await send(self, method, *args, **kwargs)
        return answer | {"IsTruncated": True} if method == "list_objects_v2" else answer

    monkeypatch.setattr(S3FileSystem, "_call_s3", forgetful)
    with pytest.raises(StoreError, match="cannot be listed whole"):
        list(store.list(""))
