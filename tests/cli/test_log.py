"""`log`: what was committed."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.lake import clock
from tests.cli.lake import EVIL, EVIL_TAP, MONDAY, TAP, land, lines, manifest, run, said

STOP = "singerlake.cli.log.pause"


def places(*arguments: str | Path) -> list[tuple[str, int]]:
    return [(row["stream"], row["sequence"]) for row in lines("log", *arguments)]


def test_commits_are_shown_newest_last(built: Path) -> None:
    rows = [line.split() for line in said("log", built).splitlines()]
    assert rows[0][0] == "committed"
    assert rows[1] == ["2026-11-02", "08:00:00", "1", "v1", "1", *rows[1][5:7], TAP, "orders"]
    assert [row[0] for row in rows[1:]] == sorted(row[0] for row in rows[1:])
    assert len(rows) == 1 + 7


def test_json_is_an_object_on_each_line(built: Path) -> None:
    rows = lines("log", built)
    assert [row["committed"] for row in rows] == sorted(row["committed"] for row in rows)
    newest = rows[-1]
    assert (newest["tap_id"], newest["run_id"]) == (EVIL_TAP, "run-1")
    assert {row["stream"] for row in rows} == {"orders", "damaged", EVIL}


def test_a_tap_a_stream_a_number_and_a_time(built: Path) -> None:
    only = (built, "--tap", TAP, "--stream", "orders")
    assert places(*only) == [("orders", 1), ("orders", 2), ("orders", 3)]
    assert places(*only, "--since", "1") == [("orders", 2), ("orders", 3)]
    assert places(*only, "--limit", "1") == [("orders", 3)]
    assert places(built, "--tap", TAP, "--since", "2026-11-04") == [
        ("orders", 3),
        ("damaged", 1),
        ("damaged", 2),
    ]


def test_the_order_of_the_log_is_kept_where_a_writer_s_clock_is_late(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: MONDAY - timedelta(days=9))
    land(root, TAP, "orders", [7])
    assert places(root, "--tap", TAP, "--stream", "orders")[-1] == ("orders", 4)
    assert places(root, "--tap", TAP)[-3:] == [("orders", 4), ("damaged", 1), ("damaged", 2)]


def test_the_newest_are_found_behind_gaps(root: Path) -> None:
    for number in range(6):
        land(root, TAP, "gaps", [number])
    files = sorted((root / "raw" / TAP / "gaps").rglob("*.singer.gz"))
    for file in files[2:]:
        file.unlink()
    said("rebuild", root, "--tap", TAP, "--stream", "gaps", "--apply")
    assert places(root, "--stream", "gaps", "--limit", "2") == [("gaps", 1), ("gaps", 2)]


@pytest.mark.parametrize("as_json", [True, False])
def test_follow_goes_on_with_what_is_new(
    root: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    steps = iter(
        [lambda: None, lambda: land(root, TAP, "orders", [7]), lambda: land(root, TAP, "new", [1])]
    )

    def pause(seconds: float) -> None:
        assert seconds == 2.5
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(STOP, pause)
    options = ["--tap", TAP, "--limit", "1", "--follow", "--every", "2.5"]
    printed = said("log", root, *options, *(["--json"] if as_json else [])).splitlines()
    if as_json:
        found = [(row["stream"], row["sequence"]) for row in map(json.loads, printed)]
        assert found == [("damaged", 2), ("orders", 4), ("new", 1)]
    else:
        assert [line.split()[-1] for line in printed] == ["stream", "damaged", "orders", "new"]
        assert len({line.rindex(TAP) for line in printed[1:]}) == 1


def test_a_log_that_was_numbered_anew_is_followed_from_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rebuilt() -> None:
        (root / "raw" / TAP / "orders" / "manifest.json").unlink()
        said("rebuild", root, "--tap", TAP, "--stream", "orders", "--apply")

    steps = iter([rebuilt, lambda: land(root, TAP, "orders", [7])])

    def pause(seconds: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(STOP, pause)
    followed = lines("log", root, "--tap", TAP, "--stream", "orders", "--limit", "1", "--follow")
    assert [row["sequence"] for row in followed] == [3, 4]


def test_what_cannot_be_read_is_told_after_all_else(root: Path) -> None:
    manifest(root).write_text("not json")
    result = run("log", root)
    assert (result.exit_code, "CorruptDocument" in result.stderr) == (3, True)
    assert {row["stream"] for row in lines("log", root, code=3)} == {"damaged", "orders", EVIL}
    assert {row["stream"] for row in lines("log", root, "--tap", TAP, code=3)} == {"damaged"}
    (root / "raw" / TAP / "catalogue.json").write_text("not json")
    result = run("log", root)
    assert (result.exit_code, "catalogue.json" in result.stderr) == (3, True)
    assert {row["tap_id"] for row in lines("log", root, code=3)} == {EVIL_TAP}


def test_follow_tells_of_what_cannot_be_read_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest(root).write_text("not json")
    steps = iter([lambda: None, lambda: land(root, TAP, "new", [1])])

    def pause(seconds: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(STOP, pause)
    result = run("log", root, "--tap", TAP, "--limit", "1", "--follow", "--json")
    assert result.exit_code == 0
    assert [json.loads(line)["stream"] for line in result.stdout.splitlines()] == ["damaged", "new"]
    assert result.stderr.count("CorruptDocument") == 1


def test_without_a_manifest_nobody_knows_when_it_was_committed(root: Path) -> None:
    manifest(root).unlink()
    only = ("log", root, "--tap", TAP, "--stream", "orders")
    assert [(row["committed"], row["records"]) for row in lines(*only)] == [(None, None)] * 3
    result = run(*only)
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["?"] * 3
    assert f"{TAP} orders" in result.stderr
    assert "rebuild" in result.stderr


def test_a_time_and_a_limit_where_a_writer_s_clock_is_late(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: MONDAY - timedelta(days=9))
    land(root, TAP, "orders", [7])
    only = (root, "--tap", TAP, "--stream", "orders", "--since", "2026-11-03")
    assert places(*only) == [("orders", 2), ("orders", 3)]
    assert places(*only, "--limit", "1") == [("orders", 3)]
