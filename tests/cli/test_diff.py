"""`diff`: two schema versions."""

from __future__ import annotations

from pathlib import Path

from tests.cli.lake import EVIL, TAP, VERSIONS, folder, land, run, said, told


def test_what_was_added_removed_and_changed_is_told(built: Path) -> None:
    shown = said("diff", built, TAP, "orders", "--from", "v1", "--to", "v3")
    assert shown.startswith("orders: v1 (")
    rows = [line.split() for line in shown.splitlines()]
    assert ["-", "note", "string"] in rows
    assert ["~", "price", "number", "number", "or", "null"] in rows
    assert ["+", "lines", "array", "of", "(string,", "date-time)"] in rows
    assert "+  na\\x1b[31mme\\n[link=x]\\u202e\\ud800 :boom:" in shown
    assert shown.endswith("2 added, 1 removed, 1 changed\n")


def test_json_has_each_difference(built: Path) -> None:
    found = told("diff", built, TAP, "orders")
    assert (found["from"]["version"], found["to"]["version"]) == (2, 3)
    assert found["differences"] == [
        {
            "path": ["lines"],
            "change": "added",
            "before": None,
            "after": "array of (string, date-time)",
        },
        {"path": [EVIL], "change": "added", "before": None, "after": "string"},
    ]


def test_a_version_with_itself(built: Path) -> None:
    assert "No differences" in said("diff", built, TAP, "orders", "--from", "v2", "--to", "v2")


def test_latest_is_the_version_of_the_newest_file(root: Path) -> None:
    land(root, TAP, "orders", [30], VERSIONS[1])
    found = told("diff", root, TAP, "orders")
    assert (found["from"]["version"], found["to"]["version"]) == (1, 2)


def test_where_the_first_version_came_back_another_can_be_named(root: Path) -> None:
    land(root, TAP, "orders", [30], VERSIONS[0])
    result = run("diff", root, TAP, "orders")
    assert result.exit_code == 2
    assert "name another with --from" in " ".join(result.stderr.split())
    found = told("diff", root, TAP, "orders", "--from", "v3")
    assert (found["from"]["version"], found["to"]["version"]) == (3, 1)


def test_one_version_is_no_error(built: Path) -> None:
    shown = " ".join(said("diff", built, TAP, "damaged").split())
    assert shown.startswith("damaged has one schema version, v1 (")
    found = told("diff", built, TAP, "damaged")
    assert (found["from"], found["to"]["version"], found["differences"]) == (None, 1, [])


def test_a_schema_that_nothing_tells_any_more(root: Path) -> None:
    for file in folder(root, "orders").rglob("*.singer.gz"):
        file.write_bytes(b"")
    result = run("diff", root, TAP, "orders")
    assert (result.exit_code, "MissingFile" in result.stderr) == (3, True)
