"""Lakes that earlier versions wrote stay readable: one of each format version is kept here.

`expected.json` beside each has the lines of every stream, in order, as they were sent.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake import Stream, check, open_lake, rebuild
from singerlake.format.keys import StreamKeys
from singerlake.lake import Bookmark
from singerlake.lake.feed import increment
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed, Event, Replaced
from singerlake.lake.vacuum import VacuumOptions, purge, vacuum

LAKES = sorted((Path(__file__).parent.parent / "lakes").iterdir())


@pytest.fixture(params=LAKES, ids=lambda path: path.name)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "lake"))


def lines(stream: Stream) -> list[str]:
    taken = stream.snapshot()
    every = (line.decode() for file in taken.files() for line in taken.lines(file))
    return [line for line in every if json.loads(line)["type"] != "SCHEMA"]


def streams(root: Path) -> dict[str, list[str]]:
    return {
        f"{tap.tap_id}|{stream.name}": lines(stream)
        for tap in open_lake(root).taps()
        for stream in tap.streams()
    }


def expected(root: Path) -> dict[str, list[str]]:
    return dict(json.loads((root / "expected.json").read_text(encoding="utf-8")))


def test_every_line_is_read_in_its_order(root: Path) -> None:
    assert streams(root) == expected(root)


def test_its_check_is_clean(root: Path) -> None:
    assert check(open_lake(root).store).findings == []


def test_its_bookmarks_count(root: Path) -> None:
    taken = open_lake(root).stream("tap-shop--sample", "orders").snapshot()
    assert [
        file.sequence for file in increment.take(taken, Bookmark(taken.manifest.log_id, 18)).files()
    ] == [19, 20]


def test_it_is_followed_each_number_once_also_while_it_is_vacuumed(root: Path) -> None:
    lake = open_lake(root)
    ends = {
        (tap.tap_id, stream.name): stream.snapshot().last_sequence
        for tap in lake.taps()
        for stream in tap.streams()
    }
    assert sum(ends.values()) > 20
    events = list(lake.feed().poll())
    assert {type(event) for event in events} == {Committed}
    assert numbers_in(events) == {key: list(range(1, end + 1)) for key, end in ends.items() if end}
    # What an older consumer kept: no digits, and no number of a revision.
    kept = {key: Bookmark(one.log_id, 18) for key, one in places(events).items() if ends[key] > 18}
    assert kept
    assert numbers_in(lake.feed(Cursor(kept), ["tap-shop--sample"], ["orders"]).poll()) == {
        ("tap-shop--sample", "orders"): [19, 20]
    }
    before = Cursor(places(events))
    for tap, stream in ends:
        vacuum(lake.store, StreamKeys(tap, stream), VacuumOptions())
    changed = list(lake.feed(before).poll())
    assert changed
    assert {type(event) for event in changed} == {Replaced}
    assert list(lake.feed(Cursor({**before.bookmarks, **places(changed)})).poll()) == []
    assert numbers_in(lake.feed().poll()) == numbers_in(events)


def test_a_cursor_from_before_goes_on(root: Path) -> None:
    kept = root / "cursor.json"
    if not kept.exists():
        pytest.skip("no consumer read this lake")
    lake = open_lake(root)
    before = Cursor.decode(kept.read_bytes())
    assert numbers_in(lake.feed(before, ["tap-shop--sample"], ["orders"]).poll()) == {
        ("tap-shop--sample", "orders"): [19, 20]
    }
    stream = StreamKeys("tap-shop--sample", "orders")
    vacuum(lake.store, stream, VacuumOptions())
    purge(lake.store, stream, timedelta(0))
    rebuild(lake.store)
    assert numbers_in(lake.feed(before, ["tap-shop--sample"], ["orders"]).poll()) == {
        ("tap-shop--sample", "orders"): [19, 20]
    }


def places(events: list[Event]) -> dict[tuple[str, str], Bookmark]:
    return {(event.tap, event.stream): event.bookmark for event in events}


def numbers_in(events: Iterable[Event]) -> dict[tuple[str, str], list[int]]:
    """The numbers that were committed, by stream, as they came."""
    found: dict[tuple[str, str], list[int]] = {}
    for event in events:
        if isinstance(event, Committed):
            numbers = range(event.first_sequence, event.last_sequence + 1)
            found.setdefault((event.tap, event.stream), []).extend(numbers)
    return found


def test_what_people_wrote_in_it_stays(root: Path) -> None:
    rebuild(open_lake(root).store)
    assert open_lake(root).annotations()["tap-shop--sample"]["owner"] == "the shop team"
    assert streams(root) == expected(root)


def test_a_rebuild_from_the_files_alone_finds_every_line(root: Path) -> None:
    for document in [*root.rglob("manifest.json"), *root.rglob("catalogue.json")]:
        document.unlink()
    rebuild(open_lake(root).store)
    assert {name: sorted(lines) for name, lines in streams(root).items()} == {
        name: sorted(lines) for name, lines in expected(root).items()
    }
    assert check(open_lake(root).store).clean


def test_a_vacuum_and_a_purge_of_it_lose_nothing(root: Path) -> None:
    store = open_lake(root).store
    for tap in open_lake(root).taps():
        for stream in tap.streams():
            keys = StreamKeys(tap.tap_id, stream.name)
            vacuum(store, keys, VacuumOptions())
            purge(store, keys, timedelta(0))
    assert streams(root) == expected(root)
    assert check(store).findings == []
