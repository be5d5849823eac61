"""What a lake does not have, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from singerlake import Lake, open_lake
from singerlake.errors import NotALake, UnknownStream, UnknownTap
from singerlake.lake import check, rebuild
from singerlake.store import open_store

TAP = "tap-shop--sample"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = open_lake(tmp_path / "lake", create=True)
    with made.writer(TAP) as writer:
        for stream in ("orders", "customers"):
            writer.write(f'{{"type": "SCHEMA", "stream": "{stream}", "schema": {{}}}}'.encode())
            writer.write(f'{{"type": "RECORD", "stream": "{stream}", "record": {{}}}}'.encode())
    return made


def test_where_no_lake_is_nobody_speaks_of_taps(tmp_path: Path) -> None:
    nothing = Lake(open_store(str(tmp_path)))
    for look in (
        lambda: nothing.stream(TAP, "orders").snapshot(),
        lambda: nothing.tap(TAP).streams(),
        lambda: check(nothing.store, TAP, "orders"),
        lambda: rebuild(nothing.store, TAP),
        lambda: open_lake(tmp_path),
    ):
        with pytest.raises(NotALake, match="expected a lake"):
            look()


@pytest.mark.parametrize("tap_id", ["tap-shop--sampel", "tap-shop", "TAP-shop--sample"])
def test_a_tap_that_is_nearly_right(lake: Lake, tap_id: str) -> None:
    for look in (
        lambda: lake.stream(tap_id, "orders").snapshot(),
        lambda: lake.tap(tap_id).streams(),
        lambda: lake.annotate(tap_id, {"owner": "me"}),
        lambda: check(lake.store, tap_id),
    ):
        with pytest.raises(UnknownTap, match=f"no tap '{tap_id}'.* Did you mean '{TAP}'"):
            look()


def test_a_stream_that_is_nearly_right(lake: Lake) -> None:
    for look in (
        lambda: lake.stream(TAP, "order").snapshot(),
        lambda: check(lake.store, TAP, "order"),
    ):
        with pytest.raises(UnknownStream, match=r"has no stream 'order'\. Did you mean 'orders'\?"):
            look()


def test_what_is_like_nothing_gets_the_names(lake: Lake) -> None:
    with pytest.raises(UnknownStream, match="there are customers, orders"):
        lake.stream(TAP, "zebra").snapshot()
    with pytest.raises(UnknownTap, match=f"there are {TAP}"):
        lake.tap("zebra").streams()
