"""An index across a log that continues another: rows keep their log, as in a rebuilt index."""

from __future__ import annotations

from pathlib import Path

import pytest

from singerlake.index.ingester import follow
from singerlake.index.query import Query
from singerlake.index.storage import origins
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake, manifest_copy, rebuild
from singerlake.lake.log import read_head
from singerlake.lake.vacuum import vacuum
from tests.index.test_ingester import KEYS, LARGE, expect_same, lake, land
from tests.lake.continuing import begin_anew
from tests.lake.landing import overwrite

__all__ = ["lake"]


def ids(storage: Storage) -> dict[int, str]:
    return {one.sequence: one.id for one in storage.entries(KEYS.tap_id, KEYS.stream)}


@pytest.mark.parametrize("read", [2, 4, 5])
def test_rows_keep_their_log(storage: Storage, lake: Lake, tmp_path: Path, read: int) -> None:
    """Indexed up to 2, 4 or 5 of 5 numbers, of which 4 are continued, and then 5 of others."""
    land(lake, "first", range(read))
    follow(storage, lake)
    before = ids(storage)
    land(lake, "second", range(read, 5))
    begin_anew(lake.store, 4, KEYS)
    land(lake, "third", range(10, 13))
    follow(storage, lake)
    expect_same(storage, lake, tmp_path)
    after = ids(storage)
    assert {number: after[number] for number in range(1, min(read, 4) + 1)} == {
        number: before[number] for number in range(1, min(read, 4) + 1)
    }
    assert after.get(5) != before.get(5, "")
    begin_anew(lake.store, 6, KEYS)
    land(lake, "fourth", range(20, 23))
    vacuum(lake.store, KEYS, LARGE)
    follow(storage, lake)
    expect_same(storage, lake, tmp_path)
    assert len({one.log_id for one in storage.page(Query())}) == 3
    assert {number: ids(storage)[number] for number in range(1, 7)} == {
        number: after[number] for number in range(1, 7)
    }
    for one in storage.page(Query()):
        assert storage.by_id(one.id) == one


def test_rows_of_an_older_manifest_that_its_copy_goes_on_from_are_read_again(
    storage: Storage, lake: Lake, tmp_path: Path
) -> None:
    """The manifest is from before a vacuum, and its copy from after it: files come back."""
    land(lake, "first", range(5))
    older = lake.store.read(KEYS.manifest).data
    vacuum(lake.store, KEYS, LARGE)
    land(lake, "second", range(5, 7))
    manifest_copy.keep(lake.store, KEYS, read_head(lake.store, KEYS).manifest)
    follow(storage, lake)
    before = ids(storage)
    overwrite(lake.store, KEYS.manifest, older)
    assert rebuild(lake.store).continued
    follow(storage, lake)
    follow(storage, lake)
    expect_same(storage, lake, tmp_path)
    assert ids(storage) == before


def test_rows_by_the_newest_log_alone_are_noticed(
    storage: Storage, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control: an index that forgets the origin differs from one that was there before."""
    monkeypatch.setattr("singerlake.format.continued.origin", lambda *_: "")
    land(lake, "first", range(5))
    follow(storage, lake)
    begin_anew(lake.store, 5, KEYS)
    land(lake, "second", range(5, 7))
    follow(storage, lake)
    with pytest.raises(AssertionError):
        expect_same(storage, lake, tmp_path)


def test_a_column_says_which_log_gave_out_which_numbers() -> None:
    text = ""
    for log_id, first in (("a", 1), ("a", 2), ("b", 5), ("b", 7), ("c", 10)):
        text = origins.grown(text, log_id, first)
    assert text == "c b:9 a:4"
    assert [origins.origin(text, number) for number in (1, 4, 5, 9, 10, 99)] == list("aabbcc")
