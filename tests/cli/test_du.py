"""`du`: what the lake takes up."""

from __future__ import annotations

from pathlib import Path

from tests.cli.lake import EVIL, EVIL_TAP, TAP, contents, folder, manifest, run, said, told


def test_every_object_is_counted_once(built: Path) -> None:
    found = told("du", built)
    every = contents(built)
    assert found["total"]["objects"] == len(every)
    assert found["total"]["bytes"] == sum(map(len, every.values()))
    sizes = [row["bytes"] for row in found["streams"]]
    assert sizes == sorted(sizes, reverse=True)
    rows = {(row["tap_id"], row["stream"]): row for row in found["streams"]}
    assert {(TAP, "orders"), (EVIL_TAP, EVIL), (TAP, None), (None, None)} <= rows.keys()
    files = sum(file.stat().st_size for file in folder(built, "orders").rglob("*.singer.gz"))
    assert rows[TAP, "orders"]["live"] == files


def test_the_text(built: Path) -> None:
    shown = said("du", built)
    assert "(documents)" in shown
    assert "na\\x1b[31mme" in shown
    assert shown.splitlines()[-1].startswith(f"{len(contents(built))} objects, ")


def test_a_tap_a_stream_and_what_cannot_be_told(root: Path) -> None:
    rows = told("du", root, "--tap", TAP, "--stream", "orders")["streams"]
    assert [(row["stream"], row["objects"]) for row in rows] == [("orders", 4)]
    manifest(root).write_text("not json")
    found = told("du", root, "--stream", "orders")
    assert {row["tap_id"]: row["live"] is None for row in found["streams"]} == {
        TAP: True,
        EVIL_TAP: False,
    }
    assert "?" in said("du", root, "--stream", "orders")
    for arguments in (("--tap", "nobody"), ("--stream", "nothing")):
        assert run("du", root, *arguments).exit_code == 2
