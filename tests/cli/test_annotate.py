"""`annotate`: notes about a tap."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.lake import EVIL_TAP, TAP, contents, run, said, told


def test_it_changes_what_it_is_asked_to_and_nothing_else(root: Path) -> None:
    document = root / "raw" / "singerlake.json"
    before = json.loads(document.read_text())
    shown = said(
        "annotate", root, TAP, "--owner", "a", "--job", "https://jobs/1", "--tag", "tier=1"
    )
    assert [line.split()[0] for line in shown.splitlines()] == [
        TAP,
        "owner",
        "description",
        "job",
        "tags",
    ]
    assert "tier=1" in shown
    before["taps"][TAP].update(owner="a", job="https://jobs/1", tags={"tier": "1"})
    assert json.loads(document.read_text()) == before


def test_json_has_all_that_is_known(root: Path) -> None:
    found = told("annotate", root, EVIL_TAP, "--tag", "x=[red]\x1b", "--documentation", "d")
    assert found["tap_id"] == EVIL_TAP
    assert found["annotations"] == {
        "owner": "",
        "description": "",
        "documentation": "d",
        "job": "",
        "tags": {"x": "[red]\x1b"},
    }
    assert "x=[red]\\x1b" in said("annotate", root, EVIL_TAP)
    assert told("annotate", root, EVIL_TAP, "--untag", "x")["annotations"]["tags"] == {}


def test_without_an_option_it_only_shows(root: Path) -> None:
    before = contents(root)
    assert "owner        the [red]shop[/] team" in said("annotate", root, TAP)
    assert contents(root) == before


def test_wrong_use(root: Path) -> None:
    before = contents(root)
    for arguments in (("tap-nobody",), ("tap-nobody", "--owner", "x"), (TAP, "--tag", "x")):
        assert run("annotate", root, *arguments).exit_code == 2
    assert contents(root) == before
