"""`pin`, `pins` and `unpin`: states of the lake that have a name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from singerlake import open_lake
from singerlake.format import keys
from singerlake.lake import clock
from tests.cli.lake import EVIL, EVIL_TAP, MONDAY, TAP, contents, land, manifest, run, said, told
from tests.cli.test_completion import completed


def test_a_state_gets_a_name_is_read_and_forgotten(sound: Path) -> None:
    before = contents(sound)
    assert "pinned before: 3 streams of 2 taps" in said("pin", sound, "before")
    pinned = said("cat", sound, TAP, "orders")
    land(sound, TAP, "orders", range(40, 44))
    assert said("cat", sound, TAP, "orders") != pinned
    for name in ("before", "pin:before"):
        assert said("cat", sound, TAP, "orders", "--as-of", name) == pinned
    assert "No pins." not in said("pins", sound)
    assert said("unpin", sound, "before") == "unpinned before\n"
    assert said("pins", sound) == "No pins.\n"
    assert before.keys() <= contents(sound).keys()
    assert run("cat", sound, TAP, "orders", "--as-of", "before").exit_code == 2


def test_what_is_listed(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.now()
    said("pin", sound, "kept", "--by", "the [red]audit[/]")
    until = (now + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    made = told("pin", sound, EVIL, "--until", until)["pin"]
    assert (made["name"], made["state"]) == (EVIL, "held")
    assert made["taps"][TAP]["orders"]["sequence"] == 3
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=2))
    found: list[dict[str, Any]] = told("pins", sound)["pins"]
    assert {row["name"]: row["state"] for row in found} == {"kept": "held", EVIL: "expired"}
    shown = said("pins", sound)
    assert "the [red]audit[/]" in shown
    assert "for ever" in shown
    assert "expired" in shown
    assert "\x1b" not in shown
    assert said("unpin", sound, EVIL).count("\x1b") == 0
    assert [row["name"] for row in told("pins", sound)["pins"]] == ["kept"]


def test_open_runs_are_named(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: MONDAY + timedelta(days=5, minutes=1))
    result = run("pin", sound, "p")
    assert result.exit_code == 0
    assert "Open: run run-1 of " in result.stderr
    assert "what it commits from now on is not in the pin" in result.stderr
    unended = told("pins", sound)["pins"][0]["unended_runs"]
    assert {row["tap_id"] for row in unended if row["outcome"] == "open"} >= {EVIL_TAP}


def test_what_cannot_be_pinned(sound: Path) -> None:
    said("pin", sound, "p")
    before = contents(sound)
    again = run("pin", sound, "p")
    assert again.exit_code == 2
    assert "singerlake unpin" in again.stderr
    for arguments in (("x", "--until", "soon"), ("x", "--until", "2001-01-01"), ()):
        assert run("pin", sound, *arguments).exit_code == 2
    assert "Did you mean 'p'?" in run("unpin", sound, "pp").stderr
    assert run("pin", sound.parent / "nowhere", "x").exit_code == 2
    assert contents(sound) == before
    manifest(sound).unlink()
    refused = run("pin", sound, "x")
    assert refused.exit_code == 3
    assert "singerlake rebuild" in refused.stderr


def test_a_damaged_pin_hides_no_other(sound: Path) -> None:
    for name in ("a", "b"):
        said("pin", sound, name)
    (sound / keys.pin("a")).write_text("{}")
    result = run("pins", sound)
    assert result.exit_code == 3
    assert result.stdout.splitlines()[1].startswith("b ")
    assert "Unreadable:" in result.stderr
    rows = told("pins", sound, code=3)["pins"]
    assert [row["name"] for row in rows if "problem" in row] == ["a"]
    assert "pin-corrupt" in said("check", sound, code=1)
    said("unpin", sound, "a")
    assert len(told("pins", sound)["pins"]) == 1


def test_a_rebuild_names_the_pins_that_it_voids(sound: Path) -> None:
    said("pin", sound, "p")
    manifest(sound).unlink()
    assert f"unpinned  p in raw/{TAP}/orders: the pin cannot be read there" in said(
        "rebuild", sound, "--apply"
    )
    assert run("cat", sound, TAP, "orders", "--as-of", "p").exit_code == 2


def test_names_are_completed_and_the_root_may_be_left_out(
    sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second", EVIL):
        open_lake(sound).pin(name)
    assert completed("unpin", sound, "") == ["first", "second"]
    monkeypatch.setenv("SINGERLAKE_ROOT", str(sound))
    assert completed("unpin", "f") == ["first"]
    assert said("unpin", "first", SINGERLAKE_ROOT=str(sound)) == "unpinned first\n"


def test_pins_are_no_tap_to_other_commands(sound: Path) -> None:
    before = told("ls", sound)
    said("pin", sound, "p")
    assert told("ls", sound) == before
    assert told("check", sound)["clean"]
    reach = [
        row for row in told("doctor", sound, "--read-only")["answers"] if row["what"] == "reach"
    ]
    assert reach[0]["told"] == "2 taps"
    assert "p.json" not in said("du", sound)
