"""A lake by an enemy in a bucket: no request leaves the lake's folder, let alone its bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from singerlake.errors import SingerlakeError
from singerlake.store import Store, open_store
from tests.faults.hostile_enemy import (
    CANARY,
    CHANGERS,
    FILES,
    LEAF,
    READERS,
    SUITE,
    segment_row,
)
from tests.faults.hostile_readers import Found
from tests.faults.proxy import Fault, Proxy, proxied
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Violation
from tests.lake.landing import KEYS, edit, land, record_line, schema_line, singer_file
from tests.servers import REGION, S3Server

THIS = "tests/faults/test_hostile_bucket.py"
FOLDER = "lake"
WHO = scaled(
    ("the tap", "Spark", "check --fix", "vacuum --purge --apply"),
    tuple(name for name in (*READERS, *CHANGERS) if name not in ("the site", "the target")),
)
"""The site and the target take folders here; what they read is what the others read."""

ELSEWHERE: dict[str, Callable[[str], str]] = {
    "a URL": lambda bucket: f"s3://{bucket}/{LEAF}",
    "up": lambda bucket: f"../../../../../{bucket}/{LEAF}",
    "absolute": lambda bucket: f"/{bucket}/{LEAF}",
    "up in the bucket": lambda bucket: f"../../../../{LEAF}",
    "encoded": lambda bucket: f"%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/{bucket}/{LEAF}",
    "a query": lambda bucket: f"x?versionId=../../{bucket}/{LEAF}",
}


class Counting:
    """A plan for a proxy, which does nothing, and notes where requests go."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []

    def __call__(self, method: str, path: str) -> Fault | None:
        self.requests.append((method, path))
        return None

    def outside(self, bucket: str) -> list[tuple[str, str]]:
        """Those that are for another bucket, or for another folder of this one."""
        return [each for each in self.requests if not _is_within(each[1], f"{bucket}/{FOLDER}/")]


def _is_within(path: str, folder: str) -> bool:
    parts = urlsplit(path)
    (prefix,) = parse_qs(parts.query).get("prefix", [""])
    where = unquote(parts.path).lstrip("/")
    if prefix and "/" not in where.rstrip("/"):
        where = f"{where.rstrip('/')}/{prefix}"  # a listing names its folder in the query
    return where.startswith(folder) and ".." not in where.split("/")


@pytest.fixture
def proxy(seaweedfs: S3Server, monkeypatch: pytest.MonkeyPatch, quiet: None) -> Iterator[Proxy]:
    with proxied(seaweedfs) as made:
        for name, value in {
            "AWS_ACCESS_KEY_ID": made.server.key,
            "AWS_SECRET_ACCESS_KEY": made.server.secret,
            "AWS_ENDPOINT_URL": made.server.endpoint,
            "AWS_DEFAULT_REGION": REGION,
        }.items():
            monkeypatch.setenv(name, value)
        yield made


def files(bucket: str, make: Callable[[str], str], other: str) -> Callable[[Any], None]:
    return lambda body: body["files"][0].update(path=make(other))


def segments(bucket: str, make: Callable[[str], str], other: str) -> Callable[[Any], None]:
    return lambda body: body.update(segments=[segment_row(make(other))])


def withstood(proxy: Proxy, root: str, bucket: str, readers: dict[str, Any]) -> int:
    for name, read in readers.items():
        proxy.plan = counting = Counting()
        try:
            output, refused = str(read(root)), False
        except (SingerlakeError, Found) as error:
            output, refused = str(error), True
        if outside := counting.outside(bucket):
            raise Violation(f"TOUCHED by {name}: {outside}")
        if CANARY in output:
            raise Violation(f"TOLD by {name}: {output}")
        if name in FILES and not refused:
            raise Violation(f"SKIPPED by {name}: {output}")
    return len(readers)


def lake_and_canary(proxy: Proxy) -> tuple[str, str, str, Store]:
    """Two buckets: a lake's, whose other folder has a canary, and a stranger's."""
    bucket, other = proxy.behind.new_bucket(), proxy.behind.new_bucket()
    secret = record_line(0).replace(b'"id": 0', b'"id": 0, "secret": "%s"' % CANARY.encode())
    for place in (bucket, other):
        data = singer_file([schema_line(), secret])
        proxy.behind.client().put_object(Bucket=place, Key=LEAF, Body=data)
    root = f"s3://{bucket}/{FOLDER}"
    store = open_store(root)
    land(store, [1])
    land(store, [2])
    return root, bucket, other, store


@pytest.mark.slow
@pytest.mark.timeout(scaled(120, 900))
@pytest.mark.parametrize("place", [files, segments], ids=lambda place: place.__name__)
def test_no_path_in_a_document_leads_out_of_the_folder(
    proxy: Proxy, place: Callable[..., Callable[[Any], None]]
) -> None:
    row = Line(SUITE, f"a path out of the bucket, in {place.__name__}", THIS)
    readers = {name: {**READERS, **CHANGERS}[name] for name in WHO}
    for make in scaled([*ELSEWHERE.values()][:1], [*ELSEWHERE.values()]):
        proxy.plan = Counting()
        root, bucket, other, store = lake_and_canary(proxy)
        edit(store, KEYS.manifest, place(bucket, make, other))
        before = listed(proxy, other)
        row.runs += withstood(proxy, root, bucket, readers)
        assert listed(proxy, other) == before
        row.faults += 1
    row.keep()


def listed(proxy: Proxy, bucket: str) -> list[tuple[str, str]]:
    rows = proxy.behind.client().list_objects_v2(Bucket=bucket)["Contents"]
    return [(row["Key"], row["ETag"]) for row in rows]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_control_a_reader_that_follows_a_url_is_seen(proxy: Proxy) -> None:
    root, bucket, other, _ = lake_and_canary(proxy)
    row = Line(SUITE, "control: a reader that follows a URL", f"{THIS} -k control")
    for named in (f"s3://{other}/x", f"s3://{bucket}/x"):

        def following(_: str, named: str = named) -> str:
            with pytest.raises(SingerlakeError):
                open_store(named).read("y")
            return ""

        row.runs, kind = row.runs + 1, ""
        try:
            withstood(proxy, root, bucket, {"following": following})
        except Violation as violation:
            kind = violation.kind
        row.control(kind == "TOUCHED", named)
