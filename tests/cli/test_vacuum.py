"""`vacuum`: small files merged, replaced ones removed; dry until it is told otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.lake import EVIL, EVIL_TAP, TAP, contents, folder, land, run, said, told

ONLY = ("--tap", TAP, "--stream", "small")


def small(root: Path) -> Path:
    for number in range(3):
        land(root, TAP, "small", [number])
    return root


def files(root: Path) -> int:
    return len(list(folder(root, "small").rglob("*.singer.gz")))


def test_it_only_tells_what_it_would_do(root: Path) -> None:
    before = contents(small(root))
    shown = said("vacuum", root)
    [row] = [line.split() for line in shown.splitlines() if " small " in line]
    assert row[2:5] == ["3", "1", "3"]
    assert shown.endswith("Nothing was changed: this is what `vacuum --apply` would do.\n")
    assert "na\\x1b[31mme" in shown
    planned = told("vacuum", root)
    assert planned["applied"] is False
    merged = {(row["tap_id"], row["stream"]): row["merged_files"] for row in planned["streams"]}
    assert merged[TAP, "small"] == 3
    assert merged[EVIL_TAP, EVIL] == 0
    assert contents(root) == before


def test_it_merges_and_after_the_grace_purges(root: Path) -> None:
    small(root)
    done = told("vacuum", root, *ONLY, "--here", "--apply")
    assert (done["applied"], done["streams"][0]["files_after"]) == (True, 1)
    assert files(root) == 4
    assert told("vacuum", root, *ONLY, "--purge", "--apply")["removed"] == []
    planned = told("vacuum", root, *ONLY, "--purge", "--grace", "0")
    assert (planned["applied"], len(planned["removed"])) == (False, 3)
    assert "3 objects to remove" in said("vacuum", root, *ONLY, "--purge", "--grace", "0")
    assert files(root) == 4
    assert "3 objects removed." in said("vacuum", root, *ONLY, "--purge", "--grace", "0", "--apply")
    assert files(root) == 1
    assert told("check", root, *ONLY)["clean"]
    assert told("show", root, TAP, "small")["last_sequence"] == 3


def test_a_stream_that_fails_keeps_no_other_from_its_turn(sound: Path) -> None:
    small(sound)
    (folder(sound, "orders") / "manifest.json").write_text("{")
    failed = {(TAP, "orders"): "failed"}
    done = told("vacuum", sound, "--here", "--apply", code=3)
    status = {(row["tap_id"], row["stream"]): row["status"] for row in done["streams"]}
    assert status[TAP, "small"] == "merged"
    assert {key: value for key, value in status.items() if value == "failed"} == failed
    result = run("vacuum", sound, "--purge", "--grace", "0", "--apply")
    assert (result.exit_code, "3 objects removed." in result.stdout) == (3, True)
    assert "CorruptDocument" in result.stderr
    purged = told("vacuum", sound, "--purge", "--grace", "0", code=3)
    assert [(row["stream"], row["status"]) for row in purged["failed"]] == [("orders", "failed")]
    result = run("vacuum", sound, "--tap", TAP)
    assert [line.split() for line in result.stdout.splitlines() if "failed" in line] == [
        [TAP, "orders", "failed"]
    ]


def test_a_stream_without_a_manifest_is_skipped_and_named(sound: Path) -> None:
    (folder(sound, "orders") / "manifest.json").unlink()
    skipped = [{"tap_id": TAP, "stream": "orders", "status": "skipped"}]
    assert [
        row for row in told("vacuum", sound)["streams"] if row["status"] == "skipped"
    ] == skipped
    assert told("vacuum", sound, "--purge")["skipped"] == skipped
    for purge in ([], ["--purge"]):
        [line] = [line for line in said("vacuum", sound, *purge).splitlines() if "Skipped" in line]
        assert line.endswith(f"`singerlake rebuild` makes: {TAP} orders")


def test_a_damaged_catalogue_keeps_no_other_tap_from_its_turn(sound: Path) -> None:
    (sound / "raw" / TAP / "catalogue.json").write_text("{")
    rows = told("vacuum", sound, code=3)["streams"]
    assert {(row["tap_id"], row["stream"]) for row in rows if row["status"] == "failed"} == {
        (TAP, None)
    }
    assert (EVIL_TAP, EVIL) in {(row["tap_id"], row["stream"]) for row in rows}
    shown = [line.split() for line in run("vacuum", sound).stdout.splitlines()]
    assert [TAP, "(all)", "failed"] in shown


def test_a_grace_that_no_date_can_hold_is_refused(root: Path) -> None:
    for grace in ("1e300", "100000000", "nan"):
        result = run("vacuum", root, "--purge", "--grace", grace)
        assert (result.exit_code, "'--grace'" in result.stderr) == (2, True)


def test_a_stream_that_is_not_there_is_wrong_use(built: Path) -> None:
    result = run("vacuum", built, "--tap", TAP, "--stream", "nothing")
    assert (result.exit_code, "UnknownStream" in result.stderr) == (2, True)


@pytest.mark.parametrize(("grace", "warned"), [("0", True), ("0.5", True), ("1", False)])
def test_a_grace_of_less_than_an_hour_is_warned_of(root: Path, grace: str, warned: bool) -> None:
    result = run("vacuum", small(root), *ONLY, "--purge", "--grace", grace, "--json")
    assert result.exit_code == 0
    assert ("Careful: " in result.stderr and "StaleSnapshot" in result.stderr) == warned
    assert json.loads(result.stdout)["applied"] is False
