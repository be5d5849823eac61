"""The items in DynamoDB: what datalake's own API reads, and files of any length."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import boto3
import msgspec
import pytest

from singerlake.index.entry import Entry
from singerlake.index.open import open_index
from singerlake.index.query import Query, answer
from singerlake.index.storage.base import Storage
from singerlake.index.storage.dynamodb.item import HASH, RANGE, RUN_HASH, day_of, day_partition
from singerlake.lake.feed.bookmark import Bookmark
from tests.index.places import new_url
from tests.index.samples import DAY, LAKE, LOG, entries_in, put
from tests.servers import S3Server

TAP, STREAM = "tap-a--x", "orders"


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_url(request, "dynamodb", tmp_path)


@pytest.fixture
def storage(url: str) -> Storage:
    return open_index(url)


@pytest.fixture
def items(url: str, moto_server: S3Server) -> Callable[[str], list[dict[str, object]]]:
    """All items of a table, without the code under test."""
    resource = boto3.session.Session().resource(
        "dynamodb", endpoint_url=moto_server.endpoint, region_name="us-east-1"
    )
    table = url.partition("://")[2].partition("?")[0]

    def every(suffix: str = "") -> list[dict[str, object]]:
        found: list[dict[str, object]] = resource.Table(table + suffix).scan()["Items"]
        return found

    return every


def of(length: int, number: int = 1) -> Entry:
    (entry,) = entries_in(TAP, STREAM, 1, random.Random(number), first=number)
    return msgspec.structs.replace(entry, start=3 * DAY + 5, end=3 * DAY + 5 + length)


def test_records_are_as_datalake_has_them(
    storage: Storage, items: Callable[[str], list[dict[str, object]]]
) -> None:
    storage.bind(LAKE, "s3://bucket/lake")
    entry = of(2 * DAY)
    put(storage, [entry])
    found = {str(item[HASH]): item for item in items("") if str(item[HASH])[0].isdigit()}
    assert sorted(found) == ["3:orders", "4:orders", "5:orders"]
    for item in found.values():
        assert item[RANGE] == f"{TAP}:{entry.id}"
        assert item[RUN_HASH] == f"{entry.run_id}:orders"
        assert item["version"] == 0
        assert item["url"] == f"s3://bucket/lake/{entry.key}"
        assert item["create_time"] == entry.create_time // 1000
        assert item["size"] == entry.size
        assert item["metadata"] == {
            "version": 0,
            "id": entry.id,
            "what": STREAM,
            "where": TAP,
            "work_id": entry.run_id,
            "start": entry.start // 1000,
            "end": entry.end // 1000,
            "hash": entry.hash,
            "path": entry.path,
        }
    unknown = msgspec.structs.replace(of(0, 2), run_id=None, writer_id=None)
    put(storage, [unknown])
    keys = {item.get(RUN_HASH) for item in items("")}
    assert f"null{unknown.id}:orders" in keys


def test_the_latest_record_of_each_stream(
    storage: Storage, items: Callable[[str], list[dict[str, object]]]
) -> None:
    storage.bind(LAKE, "s3://bucket/lake")
    newer = msgspec.structs.replace(of(0, 2), start=9 * DAY, end=9 * DAY)
    put(storage, [newer])
    put(storage, [of(0, 1)])
    (kept,) = items("-latest")
    assert kept["what_where_key"] == f"{STREAM}:{TAP}"
    assert kept["metadata"]["id"] == newer.id  # type: ignore[index]


@pytest.mark.parametrize("days", [0, 1, 29, 30, 31, 400, 4000])
def test_files_of_any_length(storage: Storage, days: int) -> None:
    storage.bind(LAKE)
    entry = of(days * DAY)
    put(storage, [entry])
    first, last = day_of(entry.start), day_of(entry.end)
    for start, end in (
        (None, None),
        (entry.start, entry.start),
        (entry.end, entry.end),
        (entry.end, None),
        (entry.end + 1, None),
        (None, entry.start - 1),
        ((first + last) // 2 * DAY, None),
        (2 * DAY, (last + 2) * DAY),
    ):
        query = Query(stream=STREAM, start=start, end=end)
        assert storage.page(query) == answer(query, [entry]), (start, end)
    with storage.change(TAP, STREAM) as change:
        change.clear()
        change.keep(Bookmark(LOG, 0))
    assert storage.count(Query()) == 0


def test_a_record_that_datalake_put_there_is_read(
    storage: Storage, url: str, moto_server: S3Server
) -> None:
    storage.bind(LAKE)
    resource = boto3.session.Session().resource(
        "dynamodb", endpoint_url=moto_server.endpoint, region_name="us-east-1"
    )
    put(storage, [of(0)])
    resource.Table(url.partition("://")[2].partition("?")[0]).put_item(
        Item={
            "version": 0,
            "url": "s3://old/u-1/data",
            HASH: day_partition(3, STREAM),
            RUN_HASH: "job-7:orders",
            RANGE: "host:u-1",
            "create_time": 7,
            "size": 9,
            "metadata": {
                "version": 0, "id": "u-1", "what": STREAM, "where": "host", "work_id": "job-7",
                "start": 3 * DAY // 1000, "end": None, "hash": "abc", "path": "/x",
            },
        }
    )  # fmt: skip
    found = storage.page(Query(stream=STREAM))
    assert [one.id for one in found if one.upload is not None] == ["u-1"]
    (old,) = storage.page(Query(stream=STREAM, run_id="job-7"))
    assert (old.tap, old.size, old.key, old.end) == ("host", 9, "s3://old/u-1/data", old.start)


def test_an_interrupted_clearing_is_ended_by_the_next_change(storage: Storage) -> None:
    storage.bind(LAKE)
    entries = entries_in(TAP, STREAM, 6, random.Random(1))
    put(storage, entries)
    with pytest.raises(KeyboardInterrupt):
        _die_after_clearing(storage, entries[:2])
    assert storage.cursor().bookmarks == {}
    fresh = entries_in(TAP, STREAM, 1, random.Random(2), log="other")
    put(storage, fresh)
    assert storage.page(Query(), limit=100) == fresh
    assert storage.by_id(entries[0].id) is None


def _die_after_clearing(storage: Storage, entries: list[Entry]) -> None:
    with storage.change(TAP, STREAM) as change:
        change.clear()
        change.add(entries)
        raise KeyboardInterrupt
