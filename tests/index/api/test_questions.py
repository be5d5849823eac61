"""The v0 API: what it answers to which question. Each case names the sentence that it is about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.index.api.ground import (
    COMMITS,
    HOUR_MS,
    MONDAY_MS,
    ODD,
    TAP,
    WHAT,
    Ground,
)

DAY = {"start": MONDAY_MS, "end": MONDAY_MS + 24 * HOUR_MS}
FAR = 10**60

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("errors 400 NoArgs", {}, "NoArgs"),
    ("errors 400 NoWhat", DAY, "NoWhat"),
    ("errors 400 NoWhat: an empty one", {"what": "", **DAY}, "NoWhat"),
    ("errors 400 NoWhat: with a run alone", {"work_id": "x"}, "NoWhat"),
    ("errors 400 NoWhat: with a cursor alone", {"cursor": "x"}, "NoWhat"),
    ("errors 400 NoWorkInterval", {"what": WHAT}, "NoWorkInterval"),
    ("errors 400 NoWorkInterval: where is no help", {"what": "x", "where": "y"}, "NoWorkInterval"),
    ("InvalidWorkInterval (both)", {"what": "x", "work_id": "y", **DAY}, "InvalidWorkInterval"),
    ("InvalidWorkInterval (both)", {"what": "x", "work_id": "y", "end": 1}, "InvalidWorkInterval"),
    ("InvalidWorkInterval (one of the pair)", {"what": "x", "start": 1}, "InvalidWorkInterval"),
    ("InvalidWorkInterval (one of the pair)", {"what": "x", "end": 1}, "InvalidWorkInterval"),
    (
        "InvalidWorkInterval (start > end)",
        {"what": "x", "start": 2, "end": 1},
        "InvalidWorkInterval",
    ),
    (
        "InvalidWorkInterval (both): an interval and a run",
        {"what": "x", "interval": "2026-03-01/..", "work_id": "y"},
        "InvalidWorkInterval",
    ),
    (
        "InvalidWorkInterval (both): an interval and a start",
        {"what": "x", "interval": "2026-03-01/..", "start": "1"},
        "InvalidWorkInterval",
    ),
    ("open intervals", {"what": "x", "interval": "yesterday/.."}, "InvalidTime"),
    ("open intervals", {"what": "x", "interval": "2026-03-02/2026-03-01"}, "InvalidTime"),
    ("InvalidLimit", {"what": "x", "limit": "0", **DAY}, "InvalidLimit"),
    ("pages of at most 100", {"what": "x", "limit": "101", **DAY}, "InvalidLimit"),
    ("InvalidLimit", {"what": "x", "limit": "-1", **DAY}, "InvalidLimit"),
    ("InvalidLimit", {"what": "x", "limit": FAR, **DAY}, "InvalidLimit"),
    ("InvalidCount", {"what": "x", "count": "maybe", **DAY}, "InvalidCount"),
    ("InvalidNumber", {"what": "x", "min_size": "many", **DAY}, "InvalidNumber"),
    ("InvalidNumber", {"what": "x", "max_size": FAR, **DAY}, "InvalidNumber"),
    ("InvalidNumber", {"what": "x", "schema_version": "v1", **DAY}, "InvalidNumber"),
]

ABSURD_TIMES = [
    "",
    " ",
    "tomorrow",
    "null",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1e400",
    str(FAR),
    str(-FAR),
    "0x10",
    "1_000",
    "२०२६",
    "2026-13-01",
    "2026-02-30",
    "2026-03-01T25:00",
    "10000-01-01",
    "0000-01-01",
    "0001-01-01T00:00+23:59",
    "9999-12-31T23:59-23:59",
    "\x00",
    "'; drop table entries; --",
    "2026-03-01" * 1000,
]

ABSURD_CURSORS = [
    "",
    "x",
    "null",
    "AAAA",
    "eyJjdXJyZW50IjogMX0=",
    "lKZmb3JlaWdu",
    "\x00",
    "ü",
    "%",
    "=" * 10,
    "A" * 30_000,
    "2xgAAAA",
]


@pytest.mark.parametrize(("sentence", "params", "code"), REFUSED)
def test_what_is_refused(ground: Ground, sentence: str, params: dict[str, Any], code: str) -> None:
    answer = ground.get("/v0/archive/files/", **params)
    assert (answer.status_code, answer.json()["code"]) == (400, code), sentence
    assert sorted(answer.json()) == ["code", "message"]


@pytest.mark.parametrize("text", ABSURD_TIMES)
@pytest.mark.parametrize("name", ["start", "end"])
def test_absurd_times_are_no_500(ground: Ground, name: str, text: str) -> None:
    """Its defects: absurd times answer 500."""
    params = {"start": "1", "end": "1", name: text}
    answer = ground.get("/v0/archive/files/", what=WHAT, **params)
    assert (answer.status_code, answer.json()["code"]) == (400, "InvalidTime")


@pytest.mark.parametrize("text", ABSURD_CURSORS)
def test_made_up_cursors_are_no_500(ground: Ground, text: str) -> None:
    """Its defects: foreign or made-up cursors answer 500."""
    answer = ground.get("/v0/archive/files/", what=WHAT, cursor=text, **DAY)
    assert (answer.status_code, answer.json()["code"]) == (400, "InvalidCursor")


def test_foreign_cursors_are_no_500(ground: Ground) -> None:
    """Its defects: foreign or made-up cursors answer 500."""
    page = ground.files(what=WHAT, limit=2, **DAY)
    cursor = page["next"].partition("cursor=")[2]
    for params in ({"work_id": "x"}, {**DAY, "where": TAP}, {**DAY, "end": MONDAY_MS + HOUR_MS}):
        answer = ground.get("/v0/archive/files/", what=WHAT, cursor=cursor, **params)
        assert (answer.status_code, answer.json()["code"]) == (400, "InvalidCursor")


ANSWERED: list[tuple[str, dict[str, Any], list[int]]] = [
    ("what + start and end", DAY, [1, 2, 3, 4, 5, 6, 7]),
    ("what + start and end + where", {"where": TAP, **DAY}, [1, 2, 3, 4, 5, 6, 7]),
    ("where: another", {"where": "tap-other--test", **DAY}, []),
    ("where: empty", {"where": "", **DAY}, []),
    ("what + work_id", {"work_id": "_x52un_x2f1"}, [4, 5, 6]),
    ("what + work_id + where", {"work_id": "_x52un_x2f1", "where": TAP}, [4, 5, 6]),
    ("what + work_id + where: another", {"work_id": "_x52un_x2f1", "where": "x"}, []),
    ("work_id: by its name", {"work_id": "Run/1"}, [4, 5, 6]),
    ("work_id: unknown", {"work_id": "nobody"}, []),
    ("work_id: never the text null", {"work_id": "null"}, []),
    ("numbers above 1e11 are ms", {"start": MONDAY_MS, "end": MONDAY_MS}, [1]),
    ("seconds or milliseconds", {"start": MONDAY_MS // 1000, "end": MONDAY_MS / 1000 + 0.5}, [1]),
    ("Dates: ISO", {"start": "2026-03-02", "end": "2026-03-02T00:59:59"}, [1]),
    ("naive is UTC", {"start": "2026-03-02T01:00", "end": "2026-03-02T01:00Z"}, [2]),
    (
        "Dates: ISO, with a zone",
        {"start": "2026-03-02T03:00+02:00", "end": "2026-03-02T01:15"},
        [2],
    ),
    ('"now"', {"start": "2026-03-02T06:10", "end": "now"}, [7]),
    ('"now", which is past all', {"start": "now", "end": "now"}, []),
    (
        "overlap, inclusive: the last moment of the first",
        {"start": MONDAY_MS + HOUR_MS // 2, "end": MONDAY_MS + HOUR_MS // 2},
        [1],
    ),
    (
        "overlap, inclusive: just after it",
        {"start": MONDAY_MS + HOUR_MS // 2 + 1, "end": MONDAY_MS + HOUR_MS - 1},
        [],
    ),
    (
        "overlap, inclusive: up to the first moment of the second",
        {"start": MONDAY_MS + HOUR_MS // 2 + 1, "end": MONDAY_MS + HOUR_MS},
        [2],
    ),
    ("overlap: in the middle of one", {"start": MONDAY_MS + 1, "end": MONDAY_MS + 2}, [1]),
    ("before all", {"start": 0, "end": MONDAY_MS - 1}, []),
    ("from the year 1 to 9999", {"start": "0001-01-01", "end": "9999-12-31"}, list(range(1, 8))),
    ("negative times", {"start": -62_135_596_800, "end": "-1.5"}, []),
    ("open intervals", {"interval": "2026-03-02T05:00/.."}, [6, 7]),
    ("open intervals", {"interval": "../2026-03-02T01:00Z"}, [1, 2]),
    ("open intervals", {"interval": "../.."}, [1, 2, 3, 4, 5, 6, 7]),
    ("a day is meant whole", {"interval": "2026-03-02/2026-03-02"}, [1, 2, 3, 4, 5, 6, 7]),
    ("by schema version", {"schema_version": 1, **DAY}, [1, 2, 3, 4, 5, 6, 7]),
    ("by schema version", {"schema_version": 2, **DAY}, []),
    ("by size", {"min_size": 10**9, **DAY}, []),
    ("by size", {"max_size": 10**9, **DAY}, [1, 2, 3, 4, 5, 6, 7]),
    ("what nobody knows is passed over", {"colour": "blue", **DAY}, [1, 2, 3, 4, 5, 6, 7]),
]


@pytest.mark.parametrize(("sentence", "params", "numbers"), ANSWERED)
def test_what_is_answered(
    ground: Ground, sentence: str, params: dict[str, Any], numbers: list[int]
) -> None:
    assert ground.numbers(what=WHAT, **params) == numbers, sentence


NAMES: list[tuple[str, str, str, int]] = [
    ("names need a reversible escape", "_x42ig_x2f_x4frders", TAP, 1),
    ("a name is asked for as it is, too", "Big/Orders", TAP, 1),
    ("by tap or stream pattern", "order*", TAP, COMMITS),
    ("by tap or stream pattern", "*", "*shop*", COMMITS + 1),
    ("by tap or stream pattern", "_x42*", TAP, 1),
    ("a pattern has no classes", "[a-z]*", TAP, 0),
    ("names however absurd", "../../etc/passwd", TAP, 0),
    ("names however absurd", "\x00", "\x00", 0),
    ("names however absurd", "_xff_x00", "_x", 0),
    ("names however absurd", "x" * 20_000, "y" * 20_000, 0),
    ("names however absurd", "'; drop table entries; --", TAP, 0),
    ("names however absurd", "🦆", "ü", 0),
]


@pytest.mark.parametrize(("sentence", "what", "where", "count"), NAMES)
def test_names(ground: Ground, sentence: str, what: str, where: str, count: int) -> None:
    answer = ground.files(what=what, where=where, **DAY)
    assert answer["count"] == len(answer["records"]) == count, sentence


def test_a_name_that_is_no_slug_is_shown_as_one(ground: Ground) -> None:
    """Slugs `^[a-z0-9_-]+$` for what, where, work_id; never the text "null"."""
    (record,) = ground.files(what="_x42ig_x2f_x4frders", **DAY)["records"]
    assert record["metadata"]["what"] == "_x42ig_x2f_x4frders"
    assert record["metadata"]["work_id"] == "_x6eull"
    assert (record["lake"]["stream"], record["lake"]["run_id"]) == (ODD, "null")
    assert ground.numbers(what=WHAT, work_id="_x6eull") == []
    assert ground.numbers(what="_x42ig_x2f_x4frders", work_id="_x6eull") == [1]
