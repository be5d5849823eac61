"""The policies of docs/operations/permissions.md: each is enough for its role, and no more.

moto's server holds the policies (actions and resources). What S3 asks for beyond that, a second
permission for a condition or for telling 404 from 403, is told from the requests themselves.
"""

from __future__ import annotations

import fnmatch
import io
import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from pyspark.sql import SparkSession

from singerlake import Lake, check, open_lake, rebuild
from singerlake.errors import AlreadyExists, NotFound, PermissionDenied
from singerlake.format.keys import StreamKeys
from singerlake.lake import LockTimes, vacuum
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions
from singerlake.projection.document import Settings
from singerlake.site.build import build as build_site
from singerlake.spark.project import project
from singerlake.spark.read_published import read_published_arrow
from singerlake.store import open_store, s3, s3_requests
from target_singerlake.target import TargetSingerlake
from tests.servers import REGION, S3Server, run_moto
from tests.tap.replay import replay
from tests.target.driving import listen

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "permissions.md"
LAKE, TABLES = "s3://bucket/lake", "s3://bucket/tables"
TAP, STREAM = "tap-shop--sample", "orders"
KEYS = StreamKeys(TAP, STREAM)
QUICK = LockTimes(stale_after=0.01, refresh_every=1, max_wait=5)


def policy(role: str) -> dict[str, Any]:
    match = re.search(
        rf"<!-- policy: {role} -->\n```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S
    )
    assert match, f"no policy of {role}"
    found: dict[str, Any] = json.loads(match[1])
    return found


@dataclass
class Needed:
    """Which permissions S3 asks for, by what was sent: pairs of an action and a resource."""

    pairs: set[tuple[str, str]] = field(default_factory=set)

    ACTIONS = {  # noqa: RUF012
        "get_object": "s3:GetObject",
        "head_object": "s3:GetObject",
        "put_object": "s3:PutObject",
        "create_multipart_upload": "s3:PutObject",
        "upload_part": "s3:PutObject",
        "complete_multipart_upload": "s3:PutObject",
        "abort_multipart_upload": "s3:AbortMultipartUpload",
        "delete_object": "s3:DeleteObject",
        "list_objects_v2": "s3:ListBucket",
        "list_multipart_uploads": "s3:ListBucketMultipartUploads",
    }

    def add(self, method: str, given: dict[str, Any], missing: bool) -> None:
        bucket = f"arn:aws:s3:::{given.get('Bucket', 'bucket')}"
        object_ = f"{bucket}/{given['Key']}" if "Key" in given else bucket
        self.pairs.add((self.ACTIONS[method], object_))
        if "IfMatch" in given:
            self.pairs.add(("s3:GetObject", object_))
        if missing:  # without it, S3 says 403
            self.pairs.add(("s3:ListBucket", bucket))


@pytest.fixture
def needed(monkeypatch: pytest.MonkeyPatch) -> Needed:
    recorded = Needed()
    call = s3_requests.S3Requests._call

    def recording(self: Any, method: str, where: str, **given: Any) -> Any:
        try:
            answer = call(self, method, where, **given)
        except NotFound:
            recorded.add(method, given, missing=True)
            raise
        except Exception:
            recorded.add(method, given, missing=False)
            raise
        recorded.add(method, given, missing=False)
        return answer

    monkeypatch.setattr(s3_requests.S3Requests, "_call", recording)
    return recorded


@dataclass(frozen=True)
class Roles:
    """An account in which every role of the page has a user."""

    server: S3Server
    users: dict[str, S3Server]

    def options(self, role: str) -> dict[str, Any]:
        return self.users[role].storage_options()

    def lake(self, role: str) -> Lake:
        return open_lake(LAKE, **self.options(role))

    def config(self, role: str) -> dict[str, Any]:
        return {"lake_root": LAKE, "storage_options": self.options(role)}


@pytest.fixture
def roles() -> Iterator[Roles]:
    with run_moto() as server:
        server.client().create_bucket(Bucket="bucket")
        iam = boto3.session.Session().client(
            "iam",
            endpoint_url=server.endpoint,
            region_name=REGION,
            aws_access_key_id=server.key,
            aws_secret_access_key=server.secret,
        )
        users = {}
        for role in ("reader", "writer", "maintainer", "projection"):
            iam.create_user(UserName=role)
            document = json.dumps(policy(role))
            iam.put_user_policy(UserName=role, PolicyName=role, PolicyDocument=document)
            key = iam.create_access_key(UserName=role)["AccessKey"]
            users[role] = S3Server(server.endpoint, key["AccessKeyId"], key["SecretAccessKey"])
        # From here on the server lets nobody do what no policy allows.
        address = f"{server.endpoint}/moto-api/reset-auth"
        request = urllib.request.Request(address, b"0", {"Content-Type": "text/plain"})
        urllib.request.urlopen(request).close()
        yield Roles(server, users)


def messages(*numbers: int) -> io.BytesIO:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    lines: list[dict[str, Any]] = [
        {"type": "SCHEMA", "stream": STREAM, "schema": schema, "key_properties": ["id"]}
    ]
    lines += [{"type": "RECORD", "stream": STREAM, "record": {"id": n}} for n in numbers]
    lines.append({"type": "STATE", "value": {"at": numbers[-1]}})
    return io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode())


def land(roles: Roles, role: str = "writer") -> None:
    config = {**roles.config(role), "tap_id": TAP}
    for number in (1, 2, 3):
        listen(TargetSingerlake(config=config), messages(number))


def assert_is_enough_and_no_more(role: str, needed: Needed) -> None:
    statements = policy(role)["Statement"]
    allowed = [
        (action, resource)
        for statement in statements
        for action in _list(statement["Action"])
        for resource in _list(statement["Resource"])
    ]

    def allows(pattern: tuple[str, str], pair: tuple[str, str]) -> bool:
        return pattern[0] == pair[0] and fnmatch.fnmatchcase(pair[1], pattern[1])

    lacking = [pair for pair in needed.pairs if not any(allows(one, pair) for one in allowed)]
    assert not lacking
    idle = [one for one in allowed if not any(allows(one, pair) for pair in needed.pairs)]
    assert not idle, "the page's policy allows what nothing needs"


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def refused(action: Callable[[], object]) -> None:
    with pytest.raises(PermissionDenied):
        action()


def test_the_writer(
    roles: Roles, needed: Needed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(roles)
    roles.lake("writer").annotate(TAP, {"owner": "the shop team"}, {})
    store = roles.lake("writer").store
    # As a commit does with the segment of a PUT that was refused.
    store.delete(f"{KEYS.folder}/_segments/1-000000000001-000000000100-00000000.json")
    # A large file goes in parts; one whose name is taken is given up.
    monkeypatch.setattr(s3, "ONE_PUT", 1)
    large = tmp_path / "large"
    large.write_bytes(b"large")
    key = KEYS.under("StxYGwZ/orders-20261116T000000.000000Z-20261116T000000.000000Z.singer.gz")
    store.create(key, large)
    with pytest.raises(AlreadyExists):
        store.create(key, large)
    assert_is_enough_and_no_more("writer", needed)
    refused(lambda: store.delete(key))
    refused(lambda: store.delete(KEYS.manifest))
    elsewhere = open_store("s3://bucket/elsewhere", roles.options("writer"))
    refused(lambda: elsewhere.read("object"))


def test_the_reader(roles: Roles, needed: Needed, tmp_path: Path) -> None:
    land(roles)
    needed.pairs.clear()
    lake = roles.lake("reader")
    assert [row["id"] for row in lake.stream(TAP, STREAM).snapshot().records()] == [1, 2, 3]
    assert len(replay(roles.config("reader")).of("RECORD")) == 3
    assert check(lake.store).clean
    assert build_site(lake, tmp_path / "site").streams == 1
    assert_is_enough_and_no_more("reader", needed)
    refused(lambda: land(roles, "reader"))
    refused(lambda: lake.store.delete(KEYS.manifest))
    refused(lambda: check(lake.store, fix=True))


def test_the_maintainer(
    roles: Roles, needed: Needed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(roles)
    needed.pairs.clear()
    store = roles.lake("maintainer").store
    report = vacuum.vacuum(store, KEYS, VacuumOptions())
    assert (report.files_before, report.files_after) == (3, 1)
    assert purge(store, KEYS, timedelta(0))
    client = roles.users["maintainer"].client()
    client.create_multipart_upload(Bucket="bucket", Key="lake/raw/died")
    monkeypatch.setattr("singerlake.lake.fix.SWEEP_AGE", timedelta(0))
    assert check(store, fix=True, times=QUICK).fixed
    store.delete(KEYS.manifest)
    rebuild(store)
    assert check(store).clean
    assert_is_enough_and_no_more("maintainer", needed)


@pytest.mark.slow
def test_the_projection(roles: Roles, needed: Needed, spark: SparkSession) -> None:
    """The executors are other processes: there the server alone holds the policy."""
    land(roles)
    needed.pairs.clear()
    options = roles.options("projection")
    publish = partial(
        project, spark, LAKE, TABLES, TAP, STREAM, Settings(format="parquet", mode="append")
    )
    for full in (False, True):  # the second replaces the first's files, and cleans them up
        done = publish(full=full, grace=timedelta(0), storage_options=options, out_options=options)
        assert done.records == 3
    assert read_published_arrow(TABLES, TAP, STREAM, options).num_rows == 3
    used = {action for action, _ in needed.pairs}
    assert used == {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"}
    refused(lambda: land(roles, "projection"))
