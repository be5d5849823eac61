"""Metadata of uploads: what is refused, and what becomes of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from singerlake.errors import BadUpload
from singerlake.index.v0.metadata import metadata_of, validated
from singerlake.index.v0.upload import entry_of, parse_metadata
from tests.index.api.ground import MONDAY_MS, NOW, metadata

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("required and not null: version", {"version": None}, "version"),
    ("required and not null: start", {"start": None}, "start"),
    ("required and not null: where", {"where": None}, "where"),
    ("required and not null: what", {"what": None}, "what"),
    ("required and not null: id", {"id": None}, "id"),
    ("required and not null: hash", {"hash": None}, "hash"),
    ("required and not null: path", {"path": None}, "path"),
    ("version (0)", {"version": 1}, "version"),
    ("a bad version", {"version": "0"}, "version"),
    ("Slugs `^[a-z0-9_-]+$`", {"what": "Orders"}, "what"),
    ("Slugs `^[a-z0-9_-]+$`", {"where": "a.b"}, "where"),
    ("Slugs `^[a-z0-9_-]+$`", {"work_id": "a b"}, "work_id"),
    ("Slugs `^[a-z0-9_-]+$`", {"what": 7}, "what"),
    ("Slugs `^[a-z0-9_-]+$`", {"what": "a\n"}, "what"),
    ('never the text "null"', {"work_id": "null"}, "work_id"),
    ("end < start is refused", {"end": 1}, "end"),
    ("Dates", {"start": "yesterday"}, "start"),
    ("Dates", {"start": 1e300}, "start"),
    ("Dates", {"start": True}, "start"),
    ("Dates", {"end": []}, "end"),
    ("path", {"path": "relative"}, "path"),
    ("id", {"id": "x" * 2000}, "id"),
    ("hash", {"hash": 5}, "hash"),
]


@pytest.mark.parametrize(("sentence", "others", "word"), BAD)
def test_what_is_refused(sentence: str, others: dict[str, Any], word: str) -> None:
    with pytest.raises(BadUpload) as caught:
        validated(metadata("x") | others, NOW)
    assert word in str(caught.value), sentence


@pytest.mark.parametrize("given", [None, [], "text", 7])
def test_what_is_no_object(given: object) -> None:
    with pytest.raises(BadUpload, match="JSON object"):
        validated(given, NOW)


def test_the_key_work_id_is_required_and_may_be_null() -> None:
    given = metadata("x")
    assert validated(given, NOW)["work_id"] is None
    del given["work_id"]
    with pytest.raises(BadUpload, match="work_id"):
        validated(given, NOW)


def test_id_and_version_have_defaults() -> None:
    """Id defaults to a uuid4 hex, which is the folder of the object that was uploaded."""
    given = {name: one for name, one in metadata("x").items() if name not in ("id", "version")}
    found = validated(given, NOW, "0123")
    assert (found["id"], found["version"]) == ("0123", 0)
    with pytest.raises(BadUpload, match="id"):
        validated(given, NOW)


def test_end_is_optional() -> None:
    given = metadata("x")
    del given["end"]
    assert validated(given, NOW)["end"] is None


@pytest.mark.parametrize(
    ("start", "ms"),
    [
        ("2026-03-02", MONDAY_MS),
        ("2026-03-02T00:00:00.000Z", MONDAY_MS),
        (MONDAY_MS // 1000, MONDAY_MS),
        (MONDAY_MS, MONDAY_MS),
        (MONDAY_MS / 1000 + 0.5, MONDAY_MS + 500),
        (str(MONDAY_MS), MONDAY_MS),
        (0, 0),
        (-1.5, -1500),
        ("now", MONDAY_MS + 3 * 86_400_000),
    ],
)
def test_dates(start: object, ms: int) -> None:
    """Dates: ISO, seconds or milliseconds (numbers above 1e11 are ms), naive is UTC, "now"."""
    assert validated(metadata("x", start=start), NOW)["start"] == ms


def test_metadata_come_back_as_they_were() -> None:
    given = validated(metadata("x", what="_x4f", path="C:\\\\x", colour="blue"), NOW)
    entry = entry_of("s3://b/x/data", given, 5, NOW)
    assert entry.stream == "O"
    iso = {"start_iso": "2026-03-02T00:00:00.000", "end_iso": None}
    assert metadata_of(entry) == {**given, **iso}


@pytest.mark.parametrize("text", [None, "", "{", "[" * 100_000, "null", '"x"'])
def test_headers_that_are_none(text: str | None) -> None:
    with pytest.raises(BadUpload):
        parse_metadata(text, NOW)
