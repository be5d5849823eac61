"""Keys: any name becomes one safe path segment, and every key tells what it was built from."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from singerlake import open_lake
from singerlake.errors import BadName
from singerlake.format import keys
from singerlake.format.keys import FileName, StreamKeys, StreamObject, TapObject
from tests.format.made import EPOCH, ODD_NAMES, moments, names, record_line, schema_line

HASH = "StxYGwZ"
JOB = "0123456789abcdef" * 2
compressions = st.sampled_from(["", ".gz", ".bz2"])
suffixes = st.just("") | st.from_regex(r"[0-9a-f]{8}|[0-9a-f]{10}", fullmatch=True)


def require_safe(name: str) -> None:
    segment = keys.escape(name)
    assert keys.unescape(segment) == name
    assert re.fullmatch(r"[A-Za-z0-9._!-]+", segment, re.ASCII)
    assert not segment.startswith((".", "_"))
    assert not segment.endswith(".")
    assert segment.lower() not in ("singerlake.json", "catalogue.json", "manifest.json")
    assert len(segment) <= keys.LONGEST_SEGMENT


@given(names)
def test_any_name_is_a_safe_segment_and_comes_back(name: str) -> None:
    require_safe(name)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_safe_segments_and_come_back(name: str) -> None:
    require_safe(name)


@given(names, names)
@example("_a", "!5Fa")
@example("é", "e\u0301")
@example("😀", "\ud83d\ude00")
def test_two_names_never_share_a_segment(one: str, other: str) -> None:
    assert (keys.escape(one) == keys.escape(other)) == (one == other)


@given(st.text(max_size=12) | st.text("!_.2EFaf9-", max_size=12))
@example("")
@example("!2e")
@example("!41")
@example("!FF")
@example("_a")
@example("a/b")
@example("manifest.json")
def test_a_segment_that_escape_does_not_make_is_refused(segment: str) -> None:
    try:
        name = keys.unescape(segment)
    except BadName:
        return
    assert keys.escape(name) == segment


@pytest.mark.parametrize(
    ("name", "length"), [("x" * 181, 181), ("é" * 31, 186), ("." + "x" * 178, 181)]
)
def test_a_name_too_long_for_a_file_system_is_refused(name: str, length: int) -> None:
    with pytest.raises(BadName, match=rf"takes {length} characters.*shorter name"):
        keys.escape(name)


def test_the_longest_name_fits_into_a_file_name() -> None:
    name = FileName("x" * keys.LONGEST_SEGMENT, EPOCH, EPOCH, "deadbeef", ".bz2")
    assert len(str(name)) <= 255


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(BadName, match="empty"):
        keys.escape("")


@given(names, moments, moments, suffixes, compressions)
def test_a_file_name_comes_back(
    stream: str, first: datetime, last: datetime, suffix: str, compression: str
) -> None:
    name = FileName(stream, first, last, suffix, compression)
    assert FileName.parse(str(name)) == name


@given(names, moments, moments, suffixes, compressions)
def test_a_file_name_with_whole_seconds_is_read(
    stream: str, first: datetime, last: datetime, suffix: str, compression: str
) -> None:
    first, last = first.replace(microsecond=0), last.replace(microsecond=0)
    name = FileName(stream, first, last, suffix, compression)
    older = str(name).replace(".000000Z", "Z")
    assert older != str(name)
    assert FileName.parse(older) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s.singer.gz",
        "s-20260101T000000Z.singer.gz",
        "s-20260101T000000Z-20260101T000000Z.singer.xz",
        "s-20260101T000000Z-20260101T000000Z.jsonl.gz",
        "s-20260101T000000Z-20260101T000000Z-DEADBEEF.singer.gz",
        "s-20260101T000000.5Z-20260101T000000Z.singer.gz",
        "s-20261301T000000Z-20260101T000000Z.singer.gz",
        "s-20260101T250000Z-20260101T000000Z.singer.gz",
        "s-٢٠٢٦٠١٠١T000000Z-20260101T000000Z.singer.gz",
        "-20260101T000000Z-20260101T000000Z.singer.gz",
        "a b-20260101T000000Z-20260101T000000Z.singer.gz",
        "s-20260101T000000Z-20260101T000000Z.singer.gz\n",
    ],
)
def test_what_is_not_a_file_name_is_none(text: str) -> None:
    assert FileName.parse(text) is None


@given(names, names, moments, moments, suffixes, compressions)
def test_every_key_tells_what_it_was_built_from(
    tap_id: str, stream: str, first: datetime, last: datetime, suffix: str, compression: str
) -> None:
    of = StreamKeys(tap_id, stream)
    name = FileName(stream, first, last, suffix, compression)
    path = keys.file_path(HASH, name)
    segment = keys.segment_path(2, 1, 10_000, "deadbeef")
    assert keys.parse(keys.catalogue(tap_id)) == TapObject(tap_id)
    assert keys.parse(of.manifest) == StreamObject(of, "manifest", "manifest.json")
    assert keys.parse(of.lock(HASH)) == StreamObject(of, "lock", f"{HASH}/singerlake.lock", HASH)
    assert keys.parse(of.under(path)) == StreamObject(of, "file", path, HASH, name)
    assert keys.parse(of.under(segment)) == StreamObject(of, "segment", segment)
    note, withdrawal = keys.note_path(JOB, path), keys.withdrawal_path(JOB)
    assert keys.parse(of.under(note)) == StreamObject(of, "note", note, job=JOB, about=path)
    assert keys.parse(of.under(withdrawal)) == StreamObject(of, "note", withdrawal, job=JOB)


@given(names, names)
def test_every_key_stays_below_the_root(tap_id: str, stream: str) -> None:
    of = StreamKeys(tap_id, stream)
    name = FileName(stream, EPOCH, EPOCH)
    for key in (
        keys.catalogue(tap_id),
        of.manifest,
        of.lock(HASH),
        of.under(keys.file_path(HASH, name)),
        of.under(keys.note_path(JOB, keys.file_path(HASH, name))),
    ):
        segments = key.split("/")
        assert segments[0] == keys.ROOT
        assert not {"", ".", ".."} & set(segments)
        assert Path("/lake", key).resolve().is_relative_to("/lake/raw")


def test_segments_sort_as_their_sequences_do() -> None:
    bounds = [(1, 100), (101, 200), (901, 1000), (1001, 1100), (999_901, 1_000_000)]
    paths = [keys.segment_path(1, first, last, "deadbeef") for first, last in bounds]
    assert paths == sorted(paths)


@pytest.mark.parametrize(
    "key",
    [
        keys.LAKE_DOCUMENT,
        "",
        "raw",
        "raw/tap",
        "raw/tap/manifest.json",
        "raw/tap/s/catalogue.json",
        "raw/tap/s/other.json",
        "raw/tap/s/short/singerlake.lock",
        "raw/tap/s/StxYGw_/singerlake.lock",
        "raw/tap/s/StxYGwZ/other",
        "raw/tap/s/StxYGwZ/deeper/singerlake.lock",
        "raw/tap/s/StxYGwZ/other-20260101T000000Z-20260101T000000Z.singer.gz",
        "raw/tap/s/_segments/1-2-3-4.json",
        f"raw/tap/s/_uploads/{'a' * 32}",
        f"raw/tap/s/_uploads/{'a' * 32}/other.json",
        f"raw/tap/s/_uploads/{'a' * 32}/StxYGwZ/singerlake.lock.json",
        f"raw/tap/s/_uploads/{'a' * 32}/StxYGwZ/s-20260101T000000Z-20260101T000000Z.singer.gz",
        "raw/tap/s/_uploads/job/withdrawn.json",
        "raw/../s/manifest.json",
        "raw/tap/_s/manifest.json",
        "cooked/tap/s/manifest.json",
    ],
)
def test_a_key_that_is_not_ours_is_none(key: str) -> None:
    assert keys.parse(key) is None


@pytest.mark.parametrize("name", ["../../up", "/root", "..", "manifest.json", "a\0\\b", "\ud800"])
def test_a_stream_of_any_name_lands_below_the_root(tmp_path: Path, name: str) -> None:
    root = tmp_path / "deep" / "er" / "lake"
    lake = open_lake(root, create=True)
    with lake.writer(name) as writer:
        writer.write(schema_line(name))
        writer.write(record_line(name))
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 4
    assert all(path.is_relative_to(root) for path in written)
    assert [(tap.tap_id, [s.name for s in tap.streams()]) for tap in lake.taps()] == [
        (name, [name])
    ]
    snapshot = lake.stream(name, name).snapshot()
    (file,) = snapshot.files()
    assert [json.loads(line)["stream"] for line in snapshot.lines(file)] == [name, name]
