"""The bookmark in a STATE knows the file that it stands at: what was put back is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import StaleBookmark
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Counting, open_store
from tap_singerlake import source as source_module
from tests.tap.replay import (
    STREAM,
    Message,
    config,
    files,
    lake,
    land_numbers,
    new_root,
    replay,
    run,
    stream_keys,
    time_of,
)

pytestmark = pytest.mark.usefixtures("door")


def place(state: Message) -> dict[str, Any]:
    """The bookmark of the stream."""
    return dict(state["bookmarks"][STREAM])


def without_check(state: Message) -> Message:
    """The STATE as it was written before bookmarks had digits."""
    kept = {name: value for name, value in place(state).items() if name != "check"}
    assert set(kept) == {"log_id", "sequence"}
    return {"bookmarks": {STREAM: kept}}


def merge(root: str) -> None:
    vacuum(open_store(root), stream_keys(), VacuumOptions())


@pytest.mark.parametrize("merged", [False, True])
def test_a_state_from_before_resumes_exactly(merged: bool) -> None:
    root = new_root()
    land_numbers(root, 1, 2, 3)
    before = without_check(replay(config(root)).state)
    assert replay(config(root), state=before).state == before
    land_numbers(root, 4, 5)
    if merged:
        merge(root)
    printed = replay(config(root), state=before)
    assert printed.numbers() == [4, 5]
    assert place(printed.state)["check"]
    land_numbers(root, 6)
    assert replay(config(root), state=printed.state).numbers() == [6]


@pytest.mark.parametrize("numbers", [(5, 6), (5, 6, 7)], ids=["as far", "farther"])
def test_a_manifest_that_was_put_back_is_noticed_when_its_log_has_grown_again(
    tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    """Else the tap would pass over 5 and 6, which bear the numbers of 3 and 4 now."""
    root = tmp_path / "lake"
    land_numbers(root, 1, 2)
    manifest = root / stream_keys().manifest
    backup = manifest.read_bytes()
    land_numbers(root, 3, 4)
    first = run(tmp_path, config(root))
    assert (first.code, first.numbers()) == (0, [1, 2, 3, 4])
    manifest.write_bytes(backup)
    land_numbers(root, *numbers)
    again = run(tmp_path, config(root), state=first.state)
    assert (again.code, again.numbers()) == (1, [])
    assert "StaleBookmark" in again.log
    assert "an older manifest was put back" in again.log


def test_it_is_noticed_within_a_merged_file_too() -> None:
    root = new_root()
    land_numbers(root, 1, 2)
    store = lake(root).store
    backup = store.read(stream_keys().manifest).data
    land_numbers(root, 3)
    state = replay(config(root)).state
    store.replace(stream_keys().manifest, backup, store.read(stream_keys().manifest).version)
    land_numbers(root, 4, 5, 6)
    merge(root)
    with pytest.raises(StaleBookmark, match="numbers were given again"):
        replay(config(root), state=state)


def test_a_vacuum_leaves_every_bookmark_as_good_as_it_was() -> None:
    root = new_root()
    land_numbers(root, 1, 2, 3, 4)
    states = [message["value"] for message in replay(config(root)).of("STATE")]
    merge(root)
    for state in states:
        given = place(state)["sequence"]
        assert replay(config(root), state=state).numbers() == [1, 2, 3, 4][given:]


@pytest.mark.parametrize("settings", [{"as_of": "2"}, {"end_time": time_of(3)}], ids=str)
def test_a_bookmark_within_a_merged_file_is_that_of_its_commit(settings: dict[str, Any]) -> None:
    root = new_root()
    land_numbers(root, 1, 2, 3, 4)
    check = files(root)[1].check
    merge(root)
    assert len(files(root)) == 1
    printed = replay(config(root, **settings))
    assert printed.numbers() == [1, 2]
    assert place(printed.state)["sequence"] == 2
    assert place(printed.state)["check"] == check
    assert replay(config(root), state=printed.state).numbers() == [3, 4]


def test_a_bookmark_that_stays_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each file behind it."""
    root = new_root()
    land_numbers(root, 1, 2, 3, 90, 4, 5, 6, 7)
    stores: list[Counting] = []

    def opened(address: str, options: object) -> Counting:
        stores.append(Counting(open_store(address)))
        return stores[-1]

    monkeypatch.setattr(source_module, "open_store", opened)
    printed = replay(config(root, end_time=time_of(60)))
    assert printed.numbers() == [1, 2, 3, 4, 5, 6, 7]
    assert printed.sequences() == [1, 2, 3]
    assert stores[-1].counts == {"read": 2, "open": 7}  # the catalogue, the manifest; the files


OLD_LAKE = Path(__file__).parent.parent / "lakes" / "v1"


def test_a_state_of_an_old_lake_resumes_exactly() -> None:
    """Its first three rows are merged files that have no digits: the key is there all the same, for
    a runner may join two STATEs key by key, and keep the digits of the older one."""
    settings = {"lake_root": str(OLD_LAKE), "tap_id": "tap-shop--sample", "streams": [STREAM]}
    whole = replay(settings)
    states = [message["value"] for message in whole.of("STATE")]
    digits = [place(state)["check"] for state in states]
    assert digits[:3] == ["", "", ""]
    assert all(digits[3:])
    for state in states:
        before = without_check(state)
        given = replay(settings, state=before).numbers()
        assert given == replay(settings, state=state).numbers()
        assert whole.numbers() == whole.numbers()[: len(whole.numbers()) - len(given)] + given
    # In the middle of a merged file: numbers 1 and 2 of four.
    log_id = place(states[0])["log_id"]
    middle = {"bookmarks": {STREAM: {"log_id": log_id, "sequence": 2}}}
    assert replay(settings, state=middle).numbers() == whole.numbers()[4:]
