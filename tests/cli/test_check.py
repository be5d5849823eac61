"""`check`: what is wrong with a lake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.lake import EVIL_TAP, TAP, contents, manifest, run, said, told


def codes(*arguments: str | Path, code: int = 1) -> list[str]:
    return [finding["code"] for finding in told("check", *arguments, code=code)["findings"]]


def test_a_damaged_file_is_found(built: Path) -> None:
    shown = said("check", built, code=1)
    assert "file-corrupt" in shown
    assert "7 files" in shown
    assert codes(built) == ["file-corrupt"]


def test_all_is_well(built: Path) -> None:
    assert "0 errors, 0 leftovers" in said("check", built, "--tap", EVIL_TAP)
    found = told("check", built, "--tap", TAP, "--stream", "orders")
    assert (found["clean"], found["records"], found["findings"]) == (True, 6, [])
    assert said("check", built, "--tap", TAP, "--stream", "empty")


def test_fix_mends_what_can_be_mended_and_the_rest_remains(root: Path) -> None:
    manifest(root).unlink()
    fixed = told("check", root, "--fix", code=1)
    assert fixed["clean"] is False
    assert any("orders" in line for line in fixed["fixed"])
    assert "manifest-missing" not in codes(root)


def test_fix_exits_with_nothing_left(sound: Path) -> None:
    manifest(sound).unlink()
    assert "rebuilt" in said("check", sound, "--tap", TAP, "--stream", "orders", "--fix")
    assert codes(sound, "--tap", TAP, "--stream", "orders", code=0) == []


@pytest.mark.parametrize("command", ["check", "rebuild"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--tap", "typo"), "no tap 'typo'"),
        (("--tap", TAP, "--stream", "typo"), "no stream 'typo'"),
        (("--stream", "orders"), "--stream needs --tap"),
    ],
)
def test_a_tap_or_stream_that_is_not_there_is_not_called_clean(
    root: Path, command: str, arguments: tuple[str, ...], says: str
) -> None:
    before = contents(root)
    result = run(command, root, *arguments)
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())
    assert contents(root) == before


@pytest.mark.parametrize("mend", [("check", "--fix"), ("rebuild", "--apply")])
def test_a_lake_document_that_cannot_be_read_is_found_and_mended(
    root: Path, mend: tuple[str, str]
) -> None:
    document = root / "raw" / "singerlake.json"
    document.write_text("not json")
    assert "lake-document-corrupt" in codes(root)
    run(mend[0], root, mend[1])
    assert sorted(json.loads(document.read_text())["taps"]) == sorted([TAP, EVIL_TAP])
    assert "lake-document-corrupt" not in codes(root)
