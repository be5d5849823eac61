"""The manifest: every file once, in sequence, in a document that stays small."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from singerlake.errors import CorruptDocument, SchemaCollision, UnsupportedFormat
from singerlake.format import document
from singerlake.format import manifest as manifests
from singerlake.format import seal as sealing
from singerlake.format.manifest import (
    Commit,
    File,
    Gap,
    Manifest,
    Segment,
    SegmentContent,
    Version,
)
from tests.format.made import EPOCH, moments, names

HASH, DIGEST = "StxYGwZ", "sha256:one"

counts = st.integers(0, 2**53)
files = st.builds(
    File,
    path=st.text(max_size=12),
    sequence=counts,
    records=counts,
    bytes=counts,
    raw_bytes=counts,
    first=moments,
    last=moments,
    checksum=st.text(max_size=12),
    writer_id=st.text(max_size=8),
    run_id=names,
    committed=moments,
)
segments = st.builds(
    Segment,
    path=st.text(max_size=12),
    level=st.integers(1, 4),
    first_sequence=counts,
    last_sequence=counts,
    files=counts,
    records=counts,
    bytes=counts,
    first=moments,
    last=moments,
    checksum=st.text(max_size=12),
)
versions = st.builds(
    Version, version=st.integers(1, 99), first_seen=moments, digest=st.text(max_size=12)
)
gaps = st.builds(
    Gap, first_sequence=counts, last_sequence=counts, reason=st.text(max_size=8), recorded=moments
)
whole_manifests = st.builds(
    Manifest,
    tap_id=names,
    stream=names,
    log_id=st.text(max_size=8),
    commit=st.builds(Commit, id=st.text(max_size=8), time=moments, writer_id=st.text(max_size=8)),
    last_sequence=counts,
    versions=st.dictionaries(st.just(HASH), versions),
    gaps=st.lists(gaps, max_size=2).map(tuple),
    segments=st.lists(segments, max_size=2).map(tuple),
    files=st.lists(files, max_size=3).map(tuple),
)


def in_json(text: str) -> str:
    """Two surrogates side by side are one character once they are JSON."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def make_file(number: int, path: str = "") -> File:
    moment = EPOCH + timedelta(minutes=number)
    return File(
        path=path or f"{HASH}/{number}",
        sequence=0,
        records=number,
        bytes=10 * number,
        raw_bytes=100 * number,
        first=moment,
        last=moment + timedelta(minutes=5),
        checksum=f"sha256:{number}",
        committed=EPOCH,
    )


def make_commit(number: int = 0) -> Commit:
    return Commit(id=str(number), time=EPOCH + timedelta(days=number), writer_id="w")


def empty() -> Manifest:
    return Manifest(tap_id="tap", stream="s", log_id="log", commit=make_commit())


@given(whole_manifests)
def test_a_manifest_comes_back_from_its_bytes(manifest: Manifest) -> None:
    tidy = msgspec.structs.replace(
        manifest,
        tap_id=in_json(manifest.tap_id),
        stream=in_json(manifest.stream),
        files=tuple(
            msgspec.structs.replace(file, run_id=in_json(file.run_id)) for file in manifest.files
        ),
    )
    data = document.encode(tidy)
    data.decode("utf-8")
    assert manifests.decode(data, "here") == tidy


@given(st.lists(files, max_size=3).map(tuple), st.lists(segments, max_size=3).map(tuple))
def test_a_segment_comes_back_from_its_bytes(
    rows: tuple[File, ...], below: tuple[Segment, ...]
) -> None:
    tidy = tuple(msgspec.structs.replace(row, run_id=in_json(row.run_id)) for row in rows)
    assume(rows or below)
    content = SegmentContent(files=tidy, segments=below)
    assert manifests.decode_segment(document.encode(content), "here") == content


def test_a_name_that_utf8_cannot_hold_is_escaped_in_the_document() -> None:
    manifest = msgspec.structs.replace(empty(), stream="Größe \ud800")
    data = document.encode(manifest)
    assert "Größe \\ud800".encode() in data
    assert manifests.decode(data, "here") == manifest
    plain = document.encode(msgspec.structs.replace(empty(), stream="x"))
    assert data.replace("Größe \\ud800".encode(), b"x") == plain


def test_sequences_go_on_from_the_last_one() -> None:
    first = manifests.append(empty(), [make_file(1), make_file(2)], make_commit(1), {HASH: DIGEST})
    second = manifests.append(first, [make_file(3)], make_commit(2), {HASH: DIGEST})
    assert [file.sequence for file in second.files] == [1, 2, 3]
    assert second.last_sequence == 3
    assert [file.committed for file in second.files] == [
        make_commit(1).time,
        make_commit(1).time,
        make_commit(2).time,
    ]
    assert second.commit == make_commit(2)
    assert first.last_sequence == 2


def test_sequences_are_never_given_twice_even_after_files_are_gone() -> None:
    grown = manifests.append(empty(), [make_file(1), make_file(2)], make_commit(), {})
    shrunk = msgspec.structs.replace(grown, files=())
    assert manifests.append(shrunk, [make_file(3)], make_commit(), {}).files[0].sequence == 3


def test_versions_are_numbered_as_they_are_first_seen() -> None:
    manifest = manifests.append(empty(), [make_file(1)], make_commit(1), {"aaaaaaa": "A"})
    manifest = manifests.append(manifest, [make_file(2)], make_commit(2), {"bbbbbbb": "B"})
    manifest = manifests.append(manifest, [make_file(3)], make_commit(3), {"aaaaaaa": "A"})
    assert manifest.versions == {
        "aaaaaaa": Version(version=1, first_seen=make_commit(1).time, digest="A"),
        "bbbbbbb": Version(version=2, first_seen=make_commit(2).time, digest="B"),
    }


def test_two_schemas_with_one_hash_are_refused_with_advice() -> None:
    manifest = manifests.append(empty(), [make_file(1)], make_commit(), {HASH: DIGEST})
    with pytest.raises(SchemaCollision, match=f"{HASH}.*nothing was written.*another hash"):
        manifests.append(manifest, [make_file(2)], make_commit(), {HASH: "sha256:other"})
    manifests.require_same_schema(manifest, HASH, DIGEST)
    manifests.require_same_schema(manifest, "another", "sha256:other")


class Log:
    """A manifest and the segments behind it, without a store."""

    def __init__(self) -> None:
        self.manifest = empty()
        self.sealed: dict[str, SegmentContent] = {}

    def commit(self, count: int, seals: int | None = 1) -> None:
        """Append so many files; a writer seals at most once, a rebuild (None) until it is done."""
        start = self.manifest.last_sequence + 1
        added = [make_file(number) for number in range(start, start + count)]
        self.manifest = manifests.append(self.manifest, added, make_commit(), {HASH: DIGEST})
        while (seals is None or seals > 0) and (seal := sealing.due_seal(self.manifest)):
            path = f"_segments/{len(self.sealed)}"
            self.sealed[path] = seal.content
            row = sealing.segment_of(seal.level, seal.rows, path, "sha256:x")
            self.manifest = sealing.sealed(self.manifest, seal, row)
            seals = None if seals is None else seals - 1

    def files(self) -> Iterator[File]:
        for segment in self.manifest.segments:
            yield from self.within(segment)
        yield from self.manifest.files

    def within(self, segment: Segment) -> list[File]:
        content = self.sealed[segment.path]
        below = [file for row in content.segments for file in self.within(row)]
        held = below + list(content.files)
        assert (segment.first_sequence, segment.last_sequence) == (
            held[0].sequence,
            held[-1].sequence,
        )
        assert segment.files == len(held)
        assert segment.records == sum(file.records for file in held)
        assert segment.bytes == sum(file.bytes for file in held)
        assert segment.first == min(file.first for file in held)
        assert segment.last == max(file.last for file in held)
        assert len(content.files) + len(content.segments) == manifests.FAN_OUT
        assert {row.level for row in content.segments} <= {segment.level - 1}
        return held

    def require_whole(self) -> None:
        assert [file.sequence for file in self.files()] == list(
            range(1, self.manifest.last_sequence + 1)
        )
        edges = [(row.first_sequence, row.last_sequence) for row in self.manifest.segments]
        edges += [(file.sequence, file.sequence) for file in self.manifest.files]
        expected = 1
        for first, last in edges:
            assert first == expected
            expected = last + 1

    @property
    def rows(self) -> int:
        return len(self.manifest.files) + len(self.manifest.segments)


@pytest.mark.parametrize("fan_out", [1, 2, 3, 5])
def test_every_file_stays_in_the_log_once_and_the_manifest_small(
    monkeypatch: pytest.MonkeyPatch, fan_out: int
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", fan_out)
    log = Log()
    for count in range(1, 301):
        log.commit(1)
        levels = 1
        while fan_out > 1 and fan_out**levels < count:
            levels += 1
        if fan_out > 1:
            # Twice the fan-out at each level, and one row on its way up.
            assert log.rows <= (levels + 1) * (2 * fan_out + 1)
        if count % 25 == 0:
            log.require_whole()


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0, 1, 2, None])), max_size=20),
)
def test_commits_of_any_size_keep_every_file_in_order(
    fan_out: int, commits: list[tuple[int, int | None]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifests, "FAN_OUT", fan_out)
        log = Log()
        for count, seals in commits:
            log.commit(count, seals)
            log.require_whole()
        if fan_out > 1:
            log.commit(0, None)
            log.require_whole()
            assert sealing.due_seal(log.manifest) is None
            assert len(log.manifest.files) <= 2 * fan_out


def test_a_manifest_of_a_hundred_thousand_files_has_a_few_hundred_rows() -> None:
    log = Log()
    log.commit(100_000, None)
    assert log.rows <= 3 * 2 * manifests.FAN_OUT
    assert len(document.encode(log.manifest)) < 256 * 1024
    assert [file.sequence for file in log.files()] == list(range(1, 100_001))


def test_a_small_manifest_is_not_sealed() -> None:
    log = Log()
    log.commit(2 * manifests.FAN_OUT)
    assert sealing.due_seal(log.manifest) is None
    assert log.manifest.segments == ()


def test_the_schema_hash_is_the_first_part_of_the_path() -> None:
    assert make_file(1, f"{HASH}/s-x-y.singer.gz").schema_hash == HASH


@pytest.mark.parametrize(
    "change",
    [
        {"last_sequence": "3"},
        {"files": [{"path": "x"}]},
        {"files": {}},
        {"versions": []},
        {"tap_id": None},
        {"commit": {}},
    ],
)
def test_a_manifest_with_a_wrong_field_is_corrupt(change: dict[str, Any]) -> None:
    body = {**msgspec.to_builtins(empty()), **change}
    with pytest.raises(CorruptDocument, match=f"^here: .*{next(iter(change))}.*rebuild"):
        manifests.decode(msgspec.json.encode(body), "here")


WRONG_ROWS = {
    "a time without a zone": {"committed": "2026-01-01T00:00:00"},
    "a time before the first in UTC": {"first": "0001-01-01T00:00:00+05:00"},
    "a time after the last in UTC": {"last": "9999-12-31T23:59:59-05:00"},
    "a negative size": {"bytes": -1},
    "a count below the unknown": {"records": -2},
    "a count that some parsers round": {"records": 2**53 + 1},
    "a number beyond 64 bits": {"sequence": 10**30},
    "a first number above the last": {"sequence": 3, "first_sequence": 4},
    "a merge without a zone": {
        "merge": {"path": "x", "checksum": "", "committed": "2026-01-01T00:00:00"}
    },
}


@pytest.mark.parametrize("change", WRONG_ROWS.values(), ids=WRONG_ROWS.keys())
def test_a_row_beyond_the_limits_is_corrupt_in_a_manifest_and_in_a_segment(
    change: dict[str, Any],
) -> None:
    row = {**msgspec.to_builtins(make_file(1)), **change}
    body = {**msgspec.to_builtins(empty()), "files": [row]}
    with pytest.raises(CorruptDocument, match=r"^here: expected a singerlake.manifest"):
        manifests.decode(json.dumps(body).encode(), "here")
    body = {"format": manifests.SEGMENT_KIND, "format_version": 1, "files": [row]}
    with pytest.raises(CorruptDocument, match=r"^here: expected a singerlake.segment"):
        manifests.decode_segment(json.dumps(body).encode(), "here")


@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
def test_a_row_at_the_limits_is_read(moment: datetime) -> None:
    """Records may bear any time, and a listing tells of no counts."""
    edge = moment.replace(tzinfo=timezone.utc)
    row = msgspec.structs.replace(
        make_file(1), records=-1, raw_bytes=-1, bytes=2**53, first=edge, last=edge, committed=edge
    )
    manifest = msgspec.structs.replace(empty(), files=(row,))
    assert manifests.decode(manifests.encode(manifest), "here") == manifest


def test_rows_that_no_segment_could_sum_up_are_corrupt() -> None:
    row = sealing.segment_of(1, [make_file(1)], "x", "")
    rows = (msgspec.structs.replace(row, bytes=2**62),) * 2
    data = document.encode(msgspec.structs.replace(empty(), segments=rows))
    with pytest.raises(CorruptDocument, match=r"^here: .*64 bits"):
        manifests.decode(data, "here")


def test_a_segment_without_rows_is_corrupt() -> None:
    with pytest.raises(CorruptDocument, match=r"^here: .*no rows"):
        manifests.decode_segment(document.encode(SegmentContent()), "here")


def test_unknown_counts_add_nothing_to_a_segment() -> None:
    unknown = msgspec.structs.replace(make_file(2), records=-1)
    assert sealing.segment_of(1, [make_file(1), unknown], "x", "").records == 1


def test_segments_of_the_highest_level_stay_in_the_manifest() -> None:
    row = sealing.segment_of(manifests.MOST_LEVELS, [make_file(1)], "x", "")
    many = (row,) * (2 * manifests.FAN_OUT + 1)
    assert sealing.due_seal(msgspec.structs.replace(empty(), segments=many)) is None


def test_a_manifest_of_the_future_may_look_like_anything() -> None:
    data = b'{"format":"singerlake.manifest","format_version":2,"files":"elsewhere"}'
    with pytest.raises(UnsupportedFormat, match="upgrade"):
        manifests.decode(data, "here")


def test_fields_of_a_later_minor_change_are_passed_over() -> None:
    body = {**msgspec.to_builtins(empty()), "added_later": {"x": 1}}
    assert manifests.decode(msgspec.json.encode(body), "here") == empty()


def test_times_keep_their_microseconds() -> None:
    moment = datetime.fromisoformat("2026-01-01T00:00:00.000001+00:00")
    manifest = msgspec.structs.replace(empty(), commit=Commit(id="", time=moment, writer_id=""))
    assert b"2026-01-01T00:00:00.000001Z" in document.encode(manifest)
