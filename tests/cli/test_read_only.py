"""`read-only`: a lake that nobody changes, and what the other commands then say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.lake import TAP, contents, run, said, told

REASON = "moving to [red]s3://new[/]\x1b"


def test_it_is_set_and_ended_and_keeps_all_else(root: Path) -> None:
    before = contents(root)
    assert "notice by" in said("read-only", root, "--reason", REASON)
    changed = {name for name, data in contents(root).items() if data != before[name]}
    assert changed == {"raw/singerlake.json"}
    assert "may be written again" in said("read-only", root, "--off")
    assert contents(root) == before


def test_json_has_the_status(root: Path) -> None:
    expected = {"root": str(root), "status": "read-only", "status_reason": None}
    assert told("read-only", root) == expected
    assert told("read-only", root, "--off") == {**expected, "status": None}


@pytest.mark.parametrize(
    "arguments",
    [
        ("annotate", TAP, "--owner", "x"),
        ("check", "--fix"),
        ("pin", "a-name"),
        ("rebuild", "--apply"),
        ("unpin", "a-name"),
        ("vacuum", "--apply", "--here"),
        ("vacuum", "--purge", "--apply"),
    ],
    ids=" ".join,
)
def test_what_changes_a_lake_is_refused(root: Path, arguments: tuple[str, ...]) -> None:
    command, *others = arguments
    said("read-only", root, "--reason", REASON)
    before = contents(root)
    result = run(command, root, *others)
    assert result.exit_code == 4, result.output
    assert "ReadOnly" in result.stderr
    assert "moving to [red]s3://new[/]\\x1b" in result.stderr
    assert contents(root) == before


def test_what_only_reports_goes_on(root: Path) -> None:
    said("read-only", root)
    before = contents(root)
    for arguments in (("rebuild",), ("vacuum",), ("vacuum", "--purge"), ("pins",), ("du",)):
        assert run(*arguments, root).exit_code in (0, 3), arguments
    assert contents(root) == before


def test_ls_and_show_say_so(root: Path) -> None:
    line = "The lake is read-only (moving to [red]s3://new[/]\\x1b): nothing in it may be changed."
    assert line not in said("ls", root)
    assert told("ls", root)["status"] is None
    said("read-only", root, "--reason", REASON)
    assert line in said("ls", root)
    assert line in said("show", root, TAP, "orders")
    assert told("ls", root)["status"] == "read-only"
    assert told("show", root, TAP, "orders")["status_reason"] == REASON


def test_wrong_use(root: Path) -> None:
    assert run("read-only", root, "--off", "--reason", "x").exit_code == 2
    assert run("read-only", root / "nothing").exit_code == 2
