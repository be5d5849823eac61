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
from singerlake.index.export import export_lines
from singerlake.index.ingester import follow
from singerlake.index.open import open_index
from singerlake.index.rebuild import rebuild_index
from singerlake.lake import Bookmark
from singerlake.lake.feed import increment
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed, Event, Replaced
from singerlake.lake.feed.options import FeedOptions
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.processor import LakeSource, Processor, open_engine
from tests.processor.running import running, until

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
    events = of_streams(lake.feed().poll())
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
    changed = of_streams(lake.feed(before).poll())
    assert changed
    assert {type(event) for event in changed} == {Replaced}
    assert of_streams(lake.feed(Cursor({**before.bookmarks, **places(changed)})).poll()) == []
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


def of_streams(events: Iterable[Event]) -> list[Event]:
    """Without the ends of runs, which some of these lakes have."""
    return [event for event in events if event.stream]


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


def kept_with(root: Path, name: str) -> str:
    """The address of what followed the lake before."""
    if not (root / name).exists():
        pytest.skip(f"nothing kept {name} of this lake")
    return f"sqlite:///{root / name}"


def lose_the_manifest(root: Path) -> None:
    (root / "raw/tap-shop--sample/orders/manifest.json").unlink()
    assert rebuild(open_lake(root).store).continued == ["raw/tap-shop--sample/orders up to 20"]


def test_an_index_from_before_goes_on(root: Path) -> None:
    storage, fresh = open_index(kept_with(root, "index.db")), open_index(f"sqlite:///{root}/f.db")
    lake, stream = open_lake(root), StreamKeys("tap-shop--sample", "orders")
    assert len(list(storage.entries(stream.tap_id, stream.stream))) == 18
    vacuum(lake.store, stream, VacuumOptions())
    assert follow(storage, lake).entries == 2
    before = list(storage.entries(stream.tap_id, stream.stream))
    lose_the_manifest(root)
    assert follow(storage, lake).entries == 0
    assert list(storage.entries(stream.tap_id, stream.stream)) == before
    rebuild_index(fresh, lake, lambda event: pytest.fail(event.error))
    assert list(export_lines(storage)) == list(export_lines(fresh))
    storage.close()
    fresh.close()


def test_a_processor_from_before_goes_on(root: Path) -> None:
    """Its engine has seen 18 numbers of the log, which continues them in another."""
    engine, lake = open_engine(kept_with(root, "engine.db")), open_lake(root)
    seen: list[int] = []
    vacuum(lake.store, StreamKeys("tap-shop--sample", "orders"), VacuumOptions())
    lose_the_manifest(root)
    options = FeedOptions(poll_seconds=0.02, idle_seconds=0.02)
    processor = Processor(
        engine,
        lambda event: seen.append(event.sequence),
        source=LakeSource(lake, options=options),
        grace=30,
    )
    with running(processor):
        until(lambda: len(seen) >= 2)
    assert seen == [19, 20]
    engine.close()
