"""The v0 API: the newest file, and files that datalake clients uploaded."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from singerlake.files import latest, put
from singerlake.index.ingester import follow
from singerlake.index.v0.metadata import validated
from singerlake.index.v0.upload import entry_of
from singerlake.store import open_store
from tests.http.wire import get as wire_get
from tests.index.api.ground import (
    HOUR_MS,
    MONDAY_MS,
    NOW,
    TAP,
    WHAT,
    Ground,
    metadata,
    put_upload,
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


# The newest


def test_latest_is_the_newest_by_start(ground: Ground) -> None:
    """`latest/<what>/<where>`: newest by start, then create_time. Its defects: `latest` without
    size and create_time."""
    answer = ground.get(f"/v0/archive/latest/{WHAT}/{TAP}").json()
    assert answer == records(ground)[-1]
    assert answer["size"] > 0
    assert answer["create_time"] > 0


def test_latest_by_create_time_where_several_begin_at_once(ground: Ground) -> None:
    """Newest by start, then create_time."""
    for number, id in enumerate(("first", "second")):
        put_upload(ground.storage, ground.uploads, b"%d" % number, id=id, what="twins")
    entry = ground.storage.by_id("first")
    assert entry is not None
    ground.storage.put_uploads([replace(entry, create_time=entry.create_time + 1)])
    answer = ground.get("/v0/archive/latest/twins/host-1").json()
    assert answer["metadata"]["id"] == "first"


@pytest.mark.parametrize(
    ("lookback", "status"),
    [(None, 200), ("14", 200), ("3", 200), ("2", 404), ("0", 404), ("00014", 200), ("9" * 60, 200)],
)
def test_lookback(ground: Ground, lookback: str | None, status: int) -> None:
    """`?lookback=14`; 404 NoSuchFile. Today is Thursday, and the file is of Monday."""
    params = {} if lookback is None else {"lookback": lookback}
    answer = ground.get(f"/v0/archive/latest/{WHAT}/{TAP}", **params)
    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == "NoSuchFile"


@pytest.mark.parametrize("lookback", ["", "x", "-1", "1.5", "1e3", "२", "null", "\x00"])
def test_invalid_lookbacks(ground: Ground, lookback: str) -> None:
    """400 InvalidLookback."""
    for end in ("", "/data"):
        answer = ground.get(f"/v0/archive/latest/{WHAT}/{TAP}{end}", lookback=lookback)
        assert (answer.status_code, answer.json()["code"]) == (400, "InvalidLookback")


@pytest.mark.parametrize("name", ["nothing", "%00", "_xff", "%F0%9F%A6%86", "x" * 3000])
def test_latest_of_names_however_absurd(ground: Ground, name: str) -> None:
    for path in (f"{name}/{TAP}", f"{WHAT}/{name}", f"{name}/{name}/data"):
        answer = wire_get(ground.url, f"/v0/archive/latest/{path}")
        assert (answer.status, answer.json["code"]) == (404, "NoSuchFile")


def test_the_newest_file_itself(ground: Ground) -> None:
    answer = ground.get(f"/v0/archive/latest/{WHAT}/{TAP}/data")
    assert ids_in(answer) == [12, 13]


def test_the_newest_file_of_any_kind(ground: Ground, tmp_path: Path) -> None:
    """Newest by start: of the photos, and not of the Singer files with their records, which begin
    when the photos were put. `singerlake latest` says the same."""
    for name, start in (("noon", "2026-03-03T12:00Z"), ("morning", "2026-03-03T08:00Z")):
        (tmp_path / name).write_bytes(name.encode())
        put(ground.lake, [tmp_path / name], what="photos", where="camera-1", start=start)
    follow(ground.storage, ground.lake)
    found = ground.get("/v0/archive/latest/photos/camera-1").json()
    same = latest(ground.lake.stream("camera-1", "photos"))
    assert same is not None
    assert found["metadata"]["hash"] == f"sha256:{same.sha256}"
    assert ground.get("/v0/archive/latest/photos/camera-1/data").content == b"noon"
    answer = ground.get("/v0/archive/latest/photos/camera-1", lookback="1")
    assert (answer.status_code, answer.json()["code"]) == (404, "NoSuchFile")


# Uploads


def test_uploads_are_served_as_they_came(ground: Ground) -> None:
    """Gzip magic gives Content-Encoding, unknown type text/plain."""
    packed = gzip.compress(b"packed")
    for id, path, body, kind, content in (
        ("plain", "/var/log/syslog", b"hello", "text/plain", b"hello"),
        ("page", "/a/b.html", b"<p>", "text/html", b"<p>"),
        ("packed", "/a/b.unknown", packed, "text/plain", b"packed"),
        ("empty", "/a/b", b"", "text/plain", b""),
    ):
        put_upload(ground.storage, ground.uploads, body, id=id, path=path)
        answer = ground.get(f"/v0/archive/files/{id}/data")
        assert answer.content == content
        assert answer.headers["content-type"].partition(";")[0] == kind
        assert answer.headers.get("content-encoding") == ("gzip" if id == "packed" else None)
        assert "sandbox" in answer.headers["content-security-policy"]
        assert ground.get(f"/v0/archive/files/{id}/metadata").json()["path"] == path


def test_an_id_may_hold_anything(ground: Ground) -> None:
    """Whoever uploads chooses the id; `http_url` leads to it."""
    for number, id in enumerate(("a/b", "a b?c=d&e#f", "%2F", "größe", "../x")):
        (ground.uploads / f"odd-{number}").mkdir()
        (ground.uploads / f"odd-{number}" / "data").write_bytes(b"%d" % number)
        url = f"{open_store(ground.uploads).url}/odd-{number}/data"
        found = validated(metadata(id, what="odd"), NOW)
        ground.storage.put_uploads([entry_of(url, found, 1, NOW)])
    records = ground.files(what="odd", start=MONDAY_MS, end=MONDAY_MS)["records"]
    assert len(records) == 5
    for record in records:
        path = record["http_url"].removeprefix(ground.url)
        assert wire_get(ground.url, path).body in (b"0", b"1", b"2", b"3", b"4")
        answer = wire_get(ground.url, path.removesuffix("data") + "metadata")
        assert answer.json["id"] == record["metadata"]["id"]


def test_an_upload_elsewhere_is_not_fetched(ground: Ground, tmp_path: Path) -> None:
    """No id leaves the lake: an index may name any address."""
    put_upload(ground.storage, tmp_path, b"secret", id="elsewhere", what="elsewhere")
    (record,) = ground.files(what="elsewhere", start=MONDAY_MS, end=MONDAY_MS)["records"]
    assert record["url"].endswith("elsewhere/data")
    assert ground.get("/v0/archive/files/elsewhere/data").status_code == 404
