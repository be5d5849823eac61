"""`[ROOT] [TAP] [STREAM]`: one pattern for every command."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import click
import pytest

from singerlake.cli import main
from singerlake.cli.place import in_place
from tests.cli.lake import TAP, run, said
from tests.cli.test_completion import completed

LAKE = "s3://bucket/lake"
BOTH = ("tap", "stream")
LOOKS = {
    "cat": ("--limit", "1"),
    "check": ("--json",),
    "diff": ("--json",),
    "du": ("--json",),
    "log": ("--json",),
    "ls": ("--json",),
    "rebuild": ("--json",),
    "show": ("--json",),
    "vacuum": ("--json",),
}
"""Commands about a tap or a stream that need no Spark."""


@pytest.mark.parametrize("command", LOOKS)
def test_a_tap_and_a_stream_are_words_or_options(built: Path, command: str) -> None:
    options = LOOKS[command]
    by_word = run(command, built, TAP, "orders", *options)
    assert by_word.exit_code in (0, 1), by_word.output
    others = [
        run(command, built, "--tap", TAP, "--stream", "orders", *options),
        run(command, built, TAP, "--stream", "orders", *options),
        run(command, TAP, "orders", *options, SINGERLAKE_ROOT=str(built)),
        run(command, TAP, "--stream", "orders", *options, SINGERLAKE_ROOT=str(built)),
        run(command, *options, "--tap", TAP, "--stream", "orders", SINGERLAKE_ROOT=str(built)),
        run(command, built, TAP, "orders", *options, SINGERLAKE_ROOT="elsewhere"),
    ]
    for other in others:
        assert (other.exit_code, other.output) == (by_word.exit_code, by_word.output)


@pytest.mark.parametrize("command", [*LOOKS, "annotate", "project", "verify"])
def test_the_usage_has_one_pattern(command: str) -> None:
    usage = said(command, "--help").splitlines()[0]
    words = usage.partition("[OPTIONS] ")[2]
    assert words in (
        "[ROOT] [TAP] [STREAM]",
        "[ROOT] TAP STREAM",
        "[ROOT] TAP [STREAM]",
        "[ROOT] TAP",
    )


def test_every_command_that_takes_a_root_takes_the_words_in_this_order() -> None:
    top = click.Context(main)
    for name in main.list_commands(top):
        command = main.get_command(top, name)
        assert command is not None
        words = [one.name for one in command.params if isinstance(one, click.Argument)]
        if "root_word" in words:
            others = ["name_word"] if name in ("pin", "unpin") else ["tap_word", "stream_word"]
            assert words == ["root_word", *others][: len(words)], name


def test_a_word_and_its_option_are_not_both_given(built: Path) -> None:
    for words in ((TAP, "--tap", TAP), (TAP, "orders", "--stream", "orders")):
        result = run("ls", built, *words)
        assert result.exit_code == 2
        assert "are the same, give only one of them" in " ".join(result.stderr.split())


def test_too_many_words_are_wrong_use(built: Path) -> None:
    result = run("ls", built, TAP, "orders", "more")
    assert (result.exit_code, "unexpected extra argument" in result.stderr) == (2, True)


def test_a_projection_has_two_forms(built: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    words = ((TAP, "orders", "--out", out), (out, "--tap", TAP, "--stream", "orders"))
    for root, form in product(((built,), ()), words):
        result = run("project", *root, *form, "--dry-run", "--json", SINGERLAKE_ROOT=str(built))
        assert result.exit_code == 0, result.output
        assert '"stream": "orders"' in result.output
    missing = run("project", built, out)
    assert (missing.exit_code, "Missing option --tap" in missing.stderr) == (2, True)


@pytest.mark.parametrize("required", [(), ("tap",), BOTH])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_words_and_options_mean_the_same_with_and_without_a_known_root(
    required: tuple[str, ...], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a tap and a stream, `count` are words and the others options."""
    words, by_option = ["tap-x", "orders"][:count], BOTH[count:]
    expected = dict.fromkeys(BOTH) | dict(zip(BOTH, words, strict=False)) | {"root": LAKE}
    assert in_place([LAKE, *words], BOTH, required, by_option) == expected
    monkeypatch.setenv("SINGERLAKE_ROOT", LAKE)
    assert in_place(words, BOTH, required, by_option) == expected
    monkeypatch.setenv("SINGERLAKE_ROOT", "s3://bucket/other")
    assert in_place([LAKE, *words], BOTH, required, by_option) == expected


def test_words_are_completed_for_every_command(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in LOOKS:
        assert completed(command, built, "tap-s") == [TAP]
        assert completed(command, built, TAP, "o") == ["orders"]
        assert completed(command, built, TAP, "--stream", "o") == ["orders"]
    monkeypatch.setenv("SINGERLAKE_ROOT", str(built))
    for command in LOOKS:
        assert completed(command, "tap-s") == [TAP]
        assert completed(command, TAP, "o") == ["orders"]
        assert completed(command, TAP, "--stream", "o") == ["orders"]
