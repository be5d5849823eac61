"""`ls`: what is in the lake."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.lake import EVIL, EVIL_TAP, TAP, manifest, run, said, told


def test_taps_and_streams_are_listed_with_their_counts(built: Path) -> None:
    listed = said("ls", built)
    rows = [line.split() for line in listed.splitlines()]
    assert rows[0][:3] == ["tap", "/", "stream"]
    orders = [row for row in rows if row[:1] == ["orders"]]
    assert [row[1:4] + row[-2:] for row in orders] == [
        ["1", "1", "2", "2026-11-07", "08:00:00"],
        ["3", "3", "6", "2026-11-04", "08:00:00"],
    ]
    assert ["empty", "0", "0", "0", "0", "B"] in rows
    [total] = [row for row in rows if row[0] == TAP]
    assert total[1:3] == ["5", "9"]
    assert "the [red]shop[/] team: Orders\\x1b[2J of the shop" in listed


def test_json_has_taps_with_annotations_and_streams(built: Path) -> None:
    found = told("ls", built)
    assert found["root"] == str(built)
    taps = {tap["tap_id"]: tap for tap in found["taps"]}
    assert list(taps) == sorted([TAP, EVIL_TAP])
    assert taps[TAP]["annotations"]["owner"] == "the [red]shop[/] team"
    assert (taps[TAP]["files"], taps[TAP]["records"]) == (5, 9)
    streams = {row["stream"]: row for row in taps[TAP]["streams"]}
    assert {name: (row["files"], row["records"]) for name, row in streams.items()} == {
        "damaged": (2, 3),
        "empty": (0, 0),
        "orders": (3, 6),
    }
    assert streams["orders"]["versions"] == 3
    assert streams["orders"]["last_commit"].startswith("2026-11-04T08:00")
    assert [row["stream"] for row in taps[EVIL_TAP]["streams"]] == sorted([EVIL, "orders"])


def test_one_tap_or_the_streams_of_one_name(built: Path) -> None:
    assert [tap["tap_id"] for tap in told("ls", built, "--tap", TAP)["taps"]] == [TAP]
    assert told("ls", built, TAP) == told("ls", built, "--tap", TAP)
    found = told("ls", built, "--stream", "orders")["taps"]
    assert [[row["stream"] for row in tap["streams"]] for tap in found] == [["orders"]] * 2


def test_what_is_not_there_is_wrong_use(built: Path) -> None:
    assert "UnknownTap" in run("ls", built, "--tap", "tap-nobody").stderr
    missing = run("ls", built, "--stream", "nothing")
    assert (missing.exit_code, "UnknownStream" in missing.stderr) == (2, True)


def test_the_others_are_shown_where_one_manifest_cannot_be_read(root: Path) -> None:
    manifest(root).write_text("not json")
    result = run("ls", root, "--tap", TAP)
    assert result.exit_code == 3
    assert "damaged" in result.stdout
    assert "Unreadable: " in result.stderr
    [tap] = told("ls", root, "--tap", TAP, code=3)["taps"]
    rows = {row["stream"]: row for row in tap["streams"]}
    assert (rows["damaged"]["records"], "problem" in rows["damaged"]) == (3, False)
    assert "manifest.json" in rows["orders"]["problem"]


def test_what_cannot_be_read_is_unknown_and_not_nothing(root: Path) -> None:
    manifest(root).write_text("not json")
    found = told("ls", root, code=3)["taps"]
    taps = {tap["tap_id"]: tap for tap in found}
    assert (taps[TAP]["partial"], taps[EVIL_TAP]["partial"]) == (True, False)
    assert (taps[TAP]["files"], taps[TAP]["records"]) == (2, 3)
    [orders] = [row for row in taps[TAP]["streams"] if row["stream"] == "orders"]
    unknown = {name for name, value in orders.items() if value is None}
    assert unknown == {"versions", "files", "records", "bytes", "last_sequence", "last_commit"}
    rows = [line.split() for line in said("ls", root, "--tap", TAP, code=3).splitlines()]
    assert ["orders", *"?????"] in rows
    [total] = [row for row in rows if row[0] == TAP]
    assert total[1:3] == ["2+", "3+"]
    [tap] = told("ls", root, "--tap", TAP, "--stream", "orders", code=3)["taps"]
    assert (tap["files"], tap["records"], tap["bytes"]) == (None, None, None)


def test_records_that_only_the_manifest_could_count_are_not_made_up(root: Path) -> None:
    manifest(root).unlink()
    [tap] = told("ls", root, "--tap", TAP, "--stream", "orders", code=3)["taps"]
    assert tap["streams"][0]["records"] is None
    assert tap["streams"][0]["files"] == 3
    rows = [line.split() for line in said("ls", root, "--tap", TAP, code=3).splitlines()]
    [total] = [row for row in rows if row[0] == TAP]
    assert total[1:3] == ["5", "3+"]


def test_a_damaged_catalogue_hides_no_other_tap(root: Path) -> None:
    (root / "raw" / TAP / "catalogue.json").write_text("not json")
    result = run("ls", root, "--json")
    assert result.exit_code == 3
    taps = {tap["tap_id"]: tap for tap in json.loads(result.stdout)["taps"]}
    assert {name: "problem" in tap for name, tap in taps.items()} == {TAP: True, EVIL_TAP: False}
    assert (taps[TAP]["files"], taps[TAP]["partial"]) == (None, True)
