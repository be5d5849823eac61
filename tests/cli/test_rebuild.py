"""`rebuild`: all metadata from the files; dry until it is told otherwise."""

from __future__ import annotations

from pathlib import Path

from tests.cli.lake import TAP, contents, manifest, said, told


def test_it_only_tells_what_it_would_do(root: Path) -> None:
    manifest(root).unlink()
    before = contents(root)
    shown = said("rebuild", root)
    assert f"renumbered  raw/{TAP}/orders: gets new sequence numbers" in shown
    assert "skipped  " in shown
    assert shown.endswith("Nothing was changed: this is what `rebuild --apply` would do.\n")
    found = told("rebuild", root)
    assert (found["applied"], found["renumbered"]) == (False, [f"raw/{TAP}/orders"])
    assert contents(root) == before


def test_what_it_told_is_what_it_does(root: Path) -> None:
    manifest(root).unlink()
    planned = told("rebuild", root)
    done = told("rebuild", root, "--apply")
    assert planned | {"applied": True} == done
    assert told("check", root, "--tap", TAP, "--stream", "orders")["clean"]


def test_the_text_of_what_was_done(root: Path) -> None:
    manifest(root).unlink()
    shown = said("rebuild", root, "--tap", TAP, "--stream", "orders", "--apply")
    assert shown.splitlines()[-1] == "1 tap, 1 stream, 3 files, 6 records"
