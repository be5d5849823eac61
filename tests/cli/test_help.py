"""`help`: topics, and the help of commands."""

from __future__ import annotations

from singerlake.cli.exit_codes import EXIT_CODES
from tests.cli.lake import run, said
from tests.cli.test_completion import completed


def test_the_exit_codes_are_told_in_one_place() -> None:
    told = said("help", "exit-codes")
    assert [int(line.split()[0]) for line in told.splitlines()] == list(EXIT_CODES)
    assert "problems were found" in told
    assert "130  interrupted by Ctrl-C" in told


def test_help_of_a_command_is_its_help() -> None:
    def without_usage(text: str) -> str:  # a runner calls the program `main`
        return text.partition("\n")[2]

    for words in (("ls",), ("site", "build"), ()):
        assert without_usage(said("help", *words)) == without_usage(said(*words, "--help"))


def test_the_arguments_are_explained() -> None:
    assert "[ROOT] [TAP] [STREAM]" in said("help", "arguments")


def test_an_unknown_topic_is_wrong_use() -> None:
    result = run("help", "nothing")
    assert (result.exit_code, "exit-codes" in result.stderr) == (2, True)


def test_topics_are_completed() -> None:
    assert completed("help", "ex") == ["exit-codes"]
    assert completed("help", "d") == ["demo", "diff", "doctor", "du"]
