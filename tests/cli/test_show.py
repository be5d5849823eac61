"""`show`: one stream."""

from __future__ import annotations

from pathlib import Path

from tests.cli.lake import EVIL, EVIL_TAP, TAP, land, manifest, run, said, told


def test_a_stream_is_shown_with_versions_arrivals_and_files(built: Path) -> None:
    shown = said("show", built, TAP, "orders")
    rows = [line.split() for line in shown.splitlines()]
    assert "3 files, 6 records" in shown
    assert [row[0] for row in rows if row[:1] and row[0] in ("v1", "v2", "v3")] == [
        "v1",
        "v2",
        "v3",
    ]
    assert "▃" in shown
    assert "█" in shown
    assert "from 2026-11-02 08:00:00 UTC, an hour each, at most 3" in shown
    assert [row[0] for row in rows if row[-1:] and row[-1].endswith(".singer.gz")] == [
        "1",
        "2",
        "3",
    ]


def test_json_has_all_of_it(built: Path) -> None:
    found = told("show", built, TAP, "orders")
    assert (found["files_total"], found["records"], found["last_sequence"]) == (3, 6, 3)
    versions = sorted(found["versions"].values(), key=lambda version: version["version"])
    assert [(row["version"], row["files"], row["records"]) for row in versions] == [
        (1, 1, 1),
        (2, 1, 2),
        (3, 1, 3),
    ]
    assert found["arrivals"]["width"] == 3600
    assert [count for count in found["arrivals"]["records"] if count] == [1, 2, 3]
    assert [file["sequence"] for file in found["files"]] == [1, 2, 3]


def test_the_newest_files_are_shown_and_the_others_counted(built: Path) -> None:
    assert [
        file["sequence"] for file in told("show", built, TAP, "orders", "--limit", "2")["files"]
    ] == [2, 3]
    assert "1 older file: see `singerlake log`" in said(
        "show", built, TAP, "orders", "--limit", "2"
    )


def test_hostile_names_are_shown(built: Path) -> None:
    assert "na\\x1b[31mme\\n[link=x]\\u202e\\ud800 :boom: of tap-[bold red]evil[/]" in said(
        "show", built, EVIL_TAP, EVIL
    )


def test_a_stream_without_files_or_without_a_manifest(root: Path) -> None:
    assert "0 files, 0 records" in said("show", root, TAP, "empty")
    manifest(root).unlink()
    assert "There is no manifest" in said("show", root, TAP, "orders")
    rows = [line.split() for line in said("show", root, TAP, "orders").splitlines()]
    assert [row[-2] for row in rows if row and row[-1].endswith(".gz")] == ["?"] * 3
    found = told("show", root, TAP, "orders")
    assert (found["records"], found["arrivals"]) == (None, None)
    for file in found["files"]:
        assert {name for name, value in file.items() if value is None} >= {
            "records",
            "raw_bytes",
            "checksum",
            "committed",
        }


def test_a_stream_with_a_damaged_file_is_shown_as_it_was_committed(built: Path) -> None:
    """`show` reads the log, not the files: `check` finds the damage."""
    assert "2 files, 3 records" in said("show", built, TAP, "damaged")
    found = told("show", built, TAP, "damaged")
    assert (found["files_total"], found["records"]) == (2, 3)
    assert [file["records"] for file in found["files"]] == [1, 2]


def test_a_merged_file_bears_all_its_numbers(root: Path) -> None:
    for number in range(3):
        land(root, TAP, "merged", [number])
    said("vacuum", root, "--tap", TAP, "--stream", "merged", "--here", "--apply")
    assert " 1-3 " in said("show", root, TAP, "merged")


def test_damage_has_an_exit_code_of_its_own(root: Path) -> None:
    manifest(root).write_text("not json")
    assert run("show", root, TAP, "orders").exit_code == 3
    assert run("show", root, TAP, "nothing").exit_code == 2
