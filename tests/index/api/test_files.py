"""The v0 API: one file, the newest file, and what else it says."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from singerlake.format.keys import StreamKeys
from singerlake.index.ingester import follow
from singerlake.lake import vacuum as vacuums
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions
from tests.http.wire import get as wire_get
from tests.index.api.ground import (
    HOUR_MS,
    MANY,
    MONDAY_MS,
    TAP,
    WHAT,
    Ground,
    land,
    served,
)

DAY = {"start": MONDAY_MS, "end": MONDAY_MS + 24 * HOUR_MS}


def records(ground: Ground) -> list[Any]:
    found: list[Any] = ground.files(what=WHAT, **DAY)["records"]
    return found


def lines(answer: httpx.Response) -> list[Any]:
    return [json.loads(line) for line in answer.text.splitlines()]


def ids_in(answer: httpx.Response) -> list[int]:
    """The records' ids; the SCHEMA message is first."""
    first, *rest = lines(answer)
    assert first["type"] == "SCHEMA"
    return [line["record"]["id"] for line in rest]


# A record


def test_records_show_all_that_they_should(ground: Ground) -> None:
    """Records show url, http_url, create_time, size, metadata with start_iso and end_iso."""
    record = records(ground)[1]
    metadata = record["metadata"]
    assert record["http_url"] == f"{ground.url}/v0/archive/files/{metadata['id']}/data"
    assert record["url"] == record["http_url"]
    assert record["create_time"] > MONDAY_MS
    assert record["size"] > 0
    assert metadata == {
        "version": 0,
        "id": metadata["id"],
        "what": WHAT,
        "where": TAP,
        "start": MONDAY_MS + HOUR_MS,
        "end": MONDAY_MS + HOUR_MS * 3 // 2,
        "start_iso": "2026-03-02T01:00:00.000",
        "end_iso": "2026-03-02T01:30:00.000",
        "work_id": "_x52un_x2f0",
        "hash": metadata["hash"],
        "path": metadata["path"],
    }
    assert metadata["hash"].startswith("sha256:")
    assert metadata["path"].startswith(f"/{TAP}/{WHAT}/")
    assert record["lake"]["records"] == 2


def test_metadata_by_id(ground: Ground) -> None:
    """`GET /v0/archive/files/<id>/metadata`."""
    record = records(ground)[0]
    found = ground.get(f"/v0/archive/files/{record['metadata']['id']}/metadata")
    assert found.json() == record["metadata"]


# Bytes


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_data_of_a_file_that_nobody_merged(ground: Ground, encoding: str) -> None:
    """Content-Encoding says where it is gzip, unknown type text/plain."""
    record = records(ground)[-1]
    answer = httpx.get(record["http_url"], headers={"accept-encoding": encoding})
    assert answer.headers.get("content-encoding", "identity") == encoding
    assert answer.headers["vary"] == "accept-encoding"
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert ids_in(answer) == [12, 13]


@pytest.mark.parametrize("number", range(4))
def test_data_of_a_merged_part_is_just_its_lines(ground: Ground, number: int) -> None:
    """`/data` of a merged part sends just its lines."""
    record = records(ground)[number]
    assert record["lake"]["is_merged"]
    assert ids_in(httpx.get(record["http_url"])) == [2 * number, 2 * number + 1]


def test_heads(ground: Ground) -> None:
    for record in (records(ground)[0], records(ground)[-1]):
        answer = httpx.head(record["http_url"])
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"].startswith("text/plain")
    assert httpx.head(f"{ground.url}/v0/archive/").status_code == 200


@pytest.mark.parametrize("what", ["data", "metadata"])
@pytest.mark.parametrize(
    "id",
    ["0" * 32, "x", "..", "%2e%2e", "%00", "%ff", "a" * 5000, "' or 1=1 --", "🦆", "_x4f", "null"],
)
def test_ids_however_absurd_are_404(ground: Ground, id: str, what: str) -> None:
    """404 NoSuchFile. Every 404 must be JSON, or its client crashes."""
    path = f"/v0/archive/files/{quote(id, safe='%')}/{what}"
    answer = wire_get(ground.url, path)
    assert (answer.status, answer.json["code"]) == (404, "NoSuchFile")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1/archive/files/",
        "/v0/archive/files/a/b/c/data",
        "/v0/archive/files/../../../etc/passwd/data",
        "/v0/archive/files//data",
        "/v0/archive/latest/x",
        "/v0/archive/latest/a/b/c",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/v0/archive/files/" + "a/" * 500,
    ],
)
def test_every_404_is_json(ground: Ground, path: str) -> None:
    """Every 404 must be JSON, or its client crashes."""
    answer = wire_get(ground.url, path)
    assert answer.status == 404
    assert sorted(answer.json) == ["code", "message"]


def test_bytes_that_are_gone_are_404(ground: Ground) -> None:
    """404 NoSuchFile: the index knows the file, and no object holds it."""
    record = ground.files(what=MANY, interval="../..")["records"][0]
    answer = httpx.get(record["http_url"])
    assert (answer.status_code, answer.json()["code"]) == (404, "NoSuchFile")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_only_reads(ground: Ground, method: str) -> None:
    """Read-only."""
    for path in ("/v0/archive/files/", "/v0/archive/", "/spec/", "/v0/archive/files/x/data"):
        answer = wire_get(ground.url, path, method=method)
        assert (answer.status, answer.json["code"]) == (405, "MethodNotAllowed")


# What else there is


def test_the_archive_and_the_environment(ground: Ground) -> None:
    """`/v0/archive/` gives storage_url, `/v0/environment/`, `/health`."""
    for slash in ("/", ""):
        assert "uploads" in ground.get(f"/v0/archive{slash}").json()["storage_url"]
        version = ground.get(f"/v0/environment{slash}").json()["data"]["build"]["version"]
        assert version
    assert ground.get("/health").status_code == 200
    assert "singerlake_http_requests_total" in ground.get("/metrics").text


def test_the_specification_names_every_path(ground: Ground) -> None:
    """OpenAPI at `/spec/`."""
    found = ground.get("/spec/").json()
    assert found["openapi"].startswith("3.")
    assert "/v0/archive/files/{id}/data" in found["paths"]
    assert found["servers"] == [{"url": ground.url}]


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("lake.example.com", True),
        ("[::1]:80", True),
        ("evil/..", False),
        ("a b", False),
        ("", False),
    ],
)
def test_addresses_name_the_host_that_was_asked(ground: Ground, host: str, shown: bool) -> None:
    answer = httpx.get(f"{ground.url}/spec/", headers={"host": host})
    expected = f"http://{host}" if shown else ground.url
    assert answer.json()["servers"] == [{"url": expected}]


# After a vacuum and a purge


def test_nothing_changes_by_vacuum_and_purge(tmp_path: Path) -> None:
    """After vacuum and purge every run query answers as before, with the same ids and lines."""
    with served(tmp_path) as ground:

        def seen() -> list[tuple[Any, list[int]]]:
            found = ground.files(what=WHAT, work_id="_x52un_x2f1")["records"]
            return [
                (
                    {name: one[name] for name in ("url", "create_time", "size", "metadata")},
                    ids_in(httpx.get(one["http_url"])),
                )
                for one in found
            ]

        before = seen()
        assert [ids for _, ids in before] == [[6, 7], [8, 9], [10, 11]]
        keys = StreamKeys(TAP, WHAT)
        vacuums.vacuum(ground.lake.store, keys, VacuumOptions())
        assert seen() == before
        purge(ground.lake.store, keys, timedelta(0))
        assert seen() == before  # although the index has not heard of it yet
        follow(ground.storage, ground.lake)
        assert seen() == before
        land(ground.lake, WHAT, 20, "later")
        follow(ground.storage, ground.lake)
        assert seen() == before


def test_a_damaged_file_never_ends_well(tmp_path: Path) -> None:
    """An answer that is whole is right: a flipped byte breaks it off."""
    with served(tmp_path) as ground:
        record = records(ground)[-1]
        path = Path(record["lake"]["object"].removeprefix("file://"))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
        try:
            answer = httpx.get(record["http_url"])
        except httpx.HTTPError:
            return
        assert answer.status_code >= 500
