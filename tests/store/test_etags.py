"""S3 behind a proxy that changes ETags, and a server that lists no unfinished uploads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import Changed, CommitConflict, Unavailable
from singerlake.lake import LockTimes, check, open_on, registry
from singerlake.store import Promise, Store, open_store, trial
from singerlake.store.s3 import S3Store
from singerlake.store.s3_requests import S3Requests
from tests.faults.proxy import Answer, Fault, Forward, Proxy, proxied, refused
from tests.lake.landing import TAP, numbers_in, options, put_orphan, record_line, schema_line
from tests.servers import S3Server

TIMES = LockTimes(stale_after=0.05, max_wait=3.0, settle=0.01)


def with_etag(change: Callable[[str], str]) -> Fault:
    """Bodies are packed on their way, say, and the ETag of the answer says so."""

    def fault(forward: Forward) -> Answer:
        answer = forward()
        headers = {
            name: change(value) if name.lower() == "etag" else value
            for name, value in answer.headers.items()
        }
        return replace(answer, headers=headers)

    return fault


def weak(etag: str) -> str:
    return f"W/{etag}"


def suffixed(etag: str) -> str:
    """As Apache does where it packs."""
    return f'{etag[:-1]}-gzip"'


def on(change: Callable[[str], str], *methods: str) -> Any:
    return lambda method, path: with_etag(change) if method in methods else None


@pytest.fixture
def proxy(seaweedfs: S3Server) -> Iterator[Proxy]:
    with proxied(seaweedfs) as proxy:
        yield proxy


def lake_behind(proxy: Proxy) -> Store:
    bucket = proxy.server.new_bucket()
    return open_store(f"s3://{bucket}/lake", proxy.server.storage_options())


def land(store: Store, *numbers: int) -> None:
    with open_on(store, create=True).writer(TAP, options=options(TIMES)) as writer:
        writer.write(schema_line())
        for number in numbers:
            writer.write(record_line(number))
            writer.commit()


@pytest.mark.parametrize("methods", [("GET",), ("GET", "HEAD"), ("GET", "HEAD", "PUT")])
def test_commits_succeed_where_etags_are_made_weak(proxy: Proxy, methods: tuple[str, ...]) -> None:
    proxy.plan = on(weak, *methods)
    store = lake_behind(proxy)
    land(store, 1, 2, 3)
    assert store.promise() is Promise.CONDITIONAL
    assert proxy.faults
    assert numbers_in(store) == [1, 2, 3]
    assert check(store, times=TIMES).clean


def test_control_a_weak_etag_as_it_came_holds_no_condition(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(S3Requests, "version_of", lambda self, answer: str(answer["ETag"]))
    monkeypatch.setattr(registry, "MAX_WAIT", 2.0)
    proxy.plan = on(weak, "GET")
    with pytest.raises(CommitConflict):
        land(lake_behind(proxy), 1)


def test_a_large_object_is_read_in_parts_where_etags_are_weak(proxy: Proxy) -> None:
    store = lake_behind(proxy)
    proxy.plan = on(weak, "GET", "HEAD")
    data = bytes(9 << 20)
    store.create("large", data)
    with store.open("large") as file:
        assert file.read() == data


def test_an_unchanged_object_is_told_to_be_so_where_etags_are_weak(proxy: Proxy) -> None:
    store = lake_behind(proxy)
    proxy.plan = on(weak, "GET")
    store.create("a", b"1")
    found = store.read_if_changed("a", "")
    assert found is not None
    assert store.read_if_changed("a", found[1]) is None
    with pytest.raises(Changed):
        store.replace("a", b"2", '"another"')


def test_doctor_reports_weak_etags(proxy: Proxy) -> None:
    proxy.plan = on(weak, "GET")
    answers = {answer.what: answer for answer in trial(lake_behind(proxy), rounds=1)}
    assert answers["replace if unchanged"].status == "ok"
    assert answers["oddities"].status == "weak"
    assert "weak ETags" in answers["oddities"].told


def test_where_no_etag_can_be_compared_the_error_blames_no_other_writer_and_doctor_says_so(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MAX_WAIT", 2.0)
    store = lake_behind(proxy)
    proxy.plan = on(suffixed, "GET", "HEAD")
    with pytest.raises(CommitConflict, match=r"nobody changes it.*ETags.*doctor"):
        land(store, 1)
    answers = {answer.what: answer for answer in trial(store, rounds=1)}
    assert answers["replace if unchanged"].status == "failed"
    assert "changes ETags" in answers["replace if unchanged"].told


@pytest.mark.parametrize(
    ("status", "code"), [(404, "NoSuchUpload"), (501, "NotImplemented")], ids=["rclone", "501"]
)
def test_check_fix_ends_on_a_server_that_lists_no_uploads(
    proxy: Proxy, status: int, code: str
) -> None:
    """As `rclone serve s3` answers: it has no uploads to list."""
    store = lake_behind(proxy)
    land(store, 1)
    put_orphan(store, 2)
    proxy.plan = lambda method, path: refused(status, code) if "?uploads" in path else None
    report = check(store, fix=True, times=TIMES)
    assert report.fixed
    assert proxy.faults == 1
    assert numbers_in(store) == [1, 2]


def test_control_a_server_that_does_not_answer_is_asked_again(proxy: Proxy) -> None:
    store = S3Store(f"s3://{proxy.server.new_bucket()}/lake", proxy.server.storage_options())
    proxy.plan = lambda method, path: refused(503, "SlowDown") if "?uploads" in path else None
    with pytest.raises(Unavailable):
        store.sweep(timedelta(0), "raw")


def test_an_upload_that_is_finished_meanwhile_is_left_alone(
    proxy: Proxy, moto_server: S3Server, tmp_path: Path
) -> None:
    with proxied(moto_server) as before:
        bucket = moto_server.new_bucket()
        store = S3Store(f"s3://{bucket}/lake", before.server.storage_options())
        moto_server.client().create_multipart_upload(Bucket=bucket, Key="lake/raw/a")
        before.plan = lambda method, path: (
            refused(404, "NoSuchUpload") if method == "DELETE" else None
        )
        assert store.sweep(timedelta(seconds=-10), "raw") == 1
        assert before.faults == 1
