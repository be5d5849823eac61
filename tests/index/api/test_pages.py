"""The v0 API: pages of an answer, and what it adds up to."""

from __future__ import annotations

import random

import pytest

from singerlake.index.query import Query
from tests.index.api.ground import (
    COMMITS,
    HOUR_MS,
    MANY,
    MONDAY_MS,
    NOW,
    TAP,
    WHAT,
    Ground,
    put_upload,
)
from tests.index.samples import entries_in, put

DAY = {"start": MONDAY_MS, "end": MONDAY_MS + 24 * HOUR_MS}


def test_pages_of_at_most_100_only_the_last_may_be_empty(ground: Ground) -> None:
    """Pages of at most 100, `{records, next}`, only the last page may be empty. Its defects:
    duplicates across pages."""
    page = ground.files(what=MANY, interval="../..")
    ids, sizes = [], []
    while True:
        ids += [one["metadata"]["id"] for one in page["records"]]
        sizes.append(len(page["records"]))
        if page["next"] is None:
            break
        answer = ground.get(page["next"].removeprefix(ground.url))
        page = answer.json()
        assert "count" not in page
    assert sizes == [100, 100, 50]
    assert len(set(ids)) == 250
    wanted = ground.storage.page(Query(stream=MANY), limit=1000)
    assert ids == [entry.id for entry in wanted]


def test_pages_hold_while_the_index_grows(ground: Ground) -> None:
    """Stable order, keyset cursors without duplicates, correct while the follower writes."""
    first = entries_in(TAP, "growing", 60, random.Random(3))
    put(ground.storage, first)
    page, seen, number = ground.files(what="growing", interval="../..", limit=7), [], 61
    while True:
        seen += [one["lake"]["sequence"] for one in page["records"]]
        if page["next"] is None:
            break
        more = entries_in(TAP, "growing", 5, random.Random(number), first=number)
        if number < 200:
            put(ground.storage, more)
        number += 5
        page = ground.get(page["next"].removeprefix(ground.url)).json()
    assert len(seen) == len(set(seen))
    assert {entry.sequence for entry in first} <= set(seen)
    assert len(seen) > len(first)


def test_the_number_of_matches_is_on_the_first_page(ground: Ground) -> None:
    assert ground.files(what=MANY, interval="../..")["count"] == 250
    assert ground.files(what=WHAT, limit=2, **DAY)["count"] == COMMITS
    assert ground.files(what="nothing", **DAY)["count"] == 0
    assert "count" not in ground.files(what=WHAT, count="false", **DAY)


def test_next_is_an_address_that_gives_the_next_page(ground: Ground) -> None:
    """`{records, next}`: names that need quoting, too."""
    page = ground.files(what="*r*", where="tap-shop--test", limit=3, interval="2026-03-02/..")
    assert page["next"].startswith(f"{ground.url}/v0/archive/files/?")
    rest = ground.get(page["next"].removeprefix(ground.url)).json()
    assert {one["metadata"]["id"] for one in rest["records"]}.isdisjoint(
        one["metadata"]["id"] for one in page["records"]
    )


def test_the_first_of_repeated_parameters_counts(ground: Ground) -> None:
    path = f"/v0/archive/files/?what={WHAT}&what=other&start={MONDAY_MS}&end={MONDAY_MS}"
    assert len(ground.get(path).json()["records"]) == 1


def test_too_many_parameters_are_refused(ground: Ground) -> None:
    answer = ground.get("/v0/archive/files/?" + "&".join(f"p{number}=1" for number in range(100)))
    assert (answer.status_code, answer.json()["code"]) == (400, "TooManyArgs")


def test_a_file_of_any_length(ground: Ground) -> None:
    """Its defects: files over 30 days refused."""
    put_upload(
        ground.storage,
        ground.uploads,
        b"",
        id="long",
        what="long",
        start="2020-01-01",
        end="2026-03-01",
    )
    (record,) = ground.files(what="long", start="2023-05-05", end="2023-05-05")["records"]
    assert record["metadata"]["id"] == "long"


def test_an_end_that_is_null(ground: Ground) -> None:
    """Time filter: end null: start <= s <= end."""
    put_upload(ground.storage, ground.uploads, b"", id="instant", what="instant")
    for start, end, count in ((-1, 0, 1), (0, 1, 1), (1, 2, 0), (-2, -1, 0)):
        found = ground.files(what="instant", start=MONDAY_MS + start, end=MONDAY_MS + end)
        assert len(found["records"]) == count
    (record,) = ground.files(what="instant", start=MONDAY_MS, end=MONDAY_MS)["records"]
    assert (record["metadata"]["end"], record["metadata"]["end_iso"]) == (None, None)


# Summaries


def test_summaries(ground: Ground) -> None:
    """A summary (`…/summary?what&by=day|run|stream`: files, records, bytes)."""
    by_day = ground.get("/v0/archive/summary", what=WHAT, by="day").json()
    (day,) = by_day["groups"]
    assert (by_day["by"], day["day"], day["files"], day["records"]) == (
        "day",
        "2026-03-02",
        COMMITS,
        2 * COMMITS,
    )
    assert (day["start"], day["end"]) == (MONDAY_MS, MONDAY_MS + 6 * HOUR_MS + HOUR_MS // 2)
    by_run = ground.get("/v0/archive/summary", what=WHAT, by="run").json()["groups"]
    assert [(one["work_id"], one["files"]) for one in by_run] == [
        ("_x52un_x2f0", 3),
        ("_x52un_x2f1", 3),
        ("_x52un_x2f2", 1),
    ]
    by_stream = ground.get("/v0/archive/summary", what="*Orders*", by="stream").json()["groups"]
    assert [(one["where"], one["what"]) for one in by_stream] == [(TAP, "_x42ig_x2f_x4frders")]
    half = ground.get("/v0/archive/summary", what=WHAT, interval="2026-03-02T03:00/..").json()
    assert half["groups"][0]["files"] == 4


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "NoArgs"),
        ({"by": "day"}, "NoWhat"),
        ({"what": "x", "by": "month"}, "InvalidBy"),
        ({"what": "x", "start": "1"}, "InvalidWorkInterval"),
        ({"what": "x", "start": "1", "end": "x"}, "InvalidTime"),
    ],
)
def test_summaries_that_are_refused(ground: Ground, params: dict[str, str], code: str) -> None:
    answer = ground.get("/v0/archive/summary", **params)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_the_clock_of_these_tests(ground: Ground) -> None:
    assert NOW.isoformat() == "2026-03-05T00:00:00+00:00"
