"""What reaches a screen: safe, in colour only where it is wanted, and no wider than it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from rich.cells import cell_len

from singerlake.cli import progress as progress_module
from singerlake.cli.console import print_json
from singerlake.cli.name import shown
from singerlake.cli.progress import progress
from singerlake.format.keys import LAKE_DOCUMENT
from singerlake.format.printable import plain
from tests.cli.lake import EVIL, EVIL_TAP, TAP, land, run

LOOKS = [
    ("ls",),
    ("ls", "--tap", EVIL_TAP),
    ("show", EVIL_TAP, EVIL),
    ("cat", EVIL_TAP, EVIL),
    ("cat", EVIL_TAP, EVIL, "--messages"),
    ("diff", TAP, "orders"),
    ("log",),
    ("du",),
    ("check",),
    ("rebuild",),
    ("vacuum",),
    ("vacuum", "--purge"),
    ("annotate", EVIL_TAP),
    ("show", EVIL_TAP, EVIL + "x"),
    ("ls", "--tap", EVIL_TAP + "x"),
]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("arguments", LOOKS, ids=lambda words: words[0])
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_no_name_is_obeyed(built: Path, arguments: tuple[str, ...], as_json: bool) -> None:
    command, *rest = arguments
    result = run(command, built, *rest, *(["--json"] if as_json else []))
    assert result.output
    for line in result.output.splitlines():
        assert line.isprintable(), line


def test_no_line_of_the_log_is_obeyed(built: Path) -> None:
    code = (
        "import logging; from singerlake.cli import main\n"
        f"main(['ls', {str(built)!r}], standalone_mode=False)\n"
        "logging.getLogger('singerlake').warning('held by %s', '\\x1b[31m')"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr == "WARNING singerlake: held by \\x1b[31m\n"


@given(some.text(some.characters(codec=None, categories=None)))
def test_whatever_is_shown_is_printable_on_one_line(text: str) -> None:
    assert plain(text).isprintable()
    assert shown(text).plain == plain(text)
    assert plain(text) == text or not text.isprintable()


def test_markup_stays_text() -> None:
    assert shown("[bold]x[/]").plain == "[bold]x[/]"
    assert shown("[bold]x[/]").spans == []


@given(some.dictionaries(some.text(some.characters(codec=None, categories=None)), some.text()))
def test_json_is_printable_and_says_the_same(value: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("singerlake.cli.console.click.echo", printed.append)
        print_json(value)
    assert json.loads(printed[0]) == value
    assert all(line.isprintable() for line in printed[0].split("\n"))


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii", "utf-8"])
def test_json_is_json_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    land(tmp_path, TAP, "Größe 😀", [1])
    done = subprocess.run(
        [sys.executable, "-m", "singerlake.cli", "ls", str(tmp_path), "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=True,
    )
    [tap] = json.loads(done.stdout.decode(encoding))["taps"]
    assert tap["streams"][0]["stream"] == "Größe 😀"


@pytest.mark.parametrize("words", [["ls"], ["annotate", TAP]], ids=" ".join)
def test_json_has_no_numbers_that_json_does_not_know(root: Path, words: list[str]) -> None:
    document = root / LAKE_DOCUMENT
    body = json.loads(document.read_bytes())
    body["taps"][TAP]["annotations"] = {"rate": float("nan"), "most": [float("-inf"), 1.5]}
    document.write_text(json.dumps(body))
    printed = run(words[0], root, *words[1:], "--json").stdout
    assert '"NaN"' in printed
    assert json.loads(printed, parse_constant=pytest.fail)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize(
    "arguments", [look for look in LOOKS if look[0] != "cat"], ids=lambda words: words[0]
)
def test_tables_fit_the_terminal(
    built: Path, arguments: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sentences are left to the terminal to wrap, so that names in them can be copied whole.
    for name in ("annotate", "diff", "du", "rebuild", "report", "show", "vacuum"):
        monkeypatch.setattr(f"singerlake.cli.{name}.say", lambda *_: None, raising=True)
    command, *rest = arguments
    shown_lines = run(command, built, *rest, COLUMNS=str(width)).stdout.splitlines()
    assert all(cell_len(line) <= width for line in shown_lines), shown_lines


@pytest.mark.parametrize("width", [20, 40, 60, 80])
@pytest.mark.parametrize(
    "arguments",
    [*((name, "--tap", TAP) for name in ("ls", "log", "du", "vacuum")), ("show", TAP, "orders")],
    ids=lambda words: words[0],
)
def test_nothing_is_cut_on_a_narrow_screen(
    built: Path, arguments: tuple[str, ...], width: int
) -> None:
    """Every value that is shown is one of those that a wide screen shows."""
    command, *rest = arguments
    wide = run(command, built, *rest, COLUMNS="500").stdout
    narrow = run(command, built, *rest, COLUMNS=str(width)).stdout
    assert "…" not in narrow
    values = re.compile(r"[0-9]{4}-[0-9-]* [0-9:]+|(?<= )[0-9,.]+ k?B|(?<= )\d+(?= )")
    assert set(values.findall(narrow)) <= set(values.findall(wide))
    assert "orders" in narrow


def test_names_stay_and_columns_go_on_a_narrow_screen(built: Path) -> None:
    def columns(command: str, width: int) -> str:
        shown_lines = run(command, built, COLUMNS=str(width)).stdout.splitlines()
        return " ".join(shown_lines[0].split())

    assert columns("ls", 80) == "tap / stream versions files records size last commit (UTC)"
    assert columns("ls", 60) == "tap / stream files records size last commit (UTC)"
    assert columns("ls", 40) == "tap / stream records"
    assert columns("log", 80) == "committed (UTC) sequence ver records size stream"
    assert columns("log", 40) == "committed (UTC) stream"
    narrow = run("ls", built, COLUMNS="40").stdout.splitlines()
    assert [line.split() for line in narrow if "damaged" in line] == [["damaged", "3"]]


def test_colours_are_for_terminals_and_respect_no_color(built: Path) -> None:
    assert not COLOURS.search(run("check", built).stdout)
    coloured = run("check", built, FORCE_COLOR="1").stdout
    assert "\x1b[31m" in coloured
    plain_text = run("check", built, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain_text)


def test_a_bar_appears_on_a_terminal_after_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("work of \x1b[31m[bold]") as step:
        step(2, 4)
        assert capsys.readouterr().err == ""
        assert "work of \\x1b[31m[bold]" in drawn_until("2/4", capsys)


def test_a_bar_appears_though_nothing_was_counted_yet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_module, "PATIENCE", 0.01)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("listing"):
        assert "listing" in drawn_until("0/?", capsys)


def drawn_until(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    drawn, end = "", time.monotonic() + 30
    while text not in drawn and time.monotonic() < end:
        time.sleep(0.01)
        drawn += COLOURS.sub("", capsys.readouterr().err)
    return drawn


def test_there_is_no_bar_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_module, "PATIENCE", 0.0)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with progress("work") as step:
        step(1, 2)
    assert capsys.readouterr().err == ""
