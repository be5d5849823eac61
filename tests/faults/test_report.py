"""The page tells of one whole run, or is not written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults import report
from tests.faults.report import SUITES, missing, table
from tests.faults.result import Line


def whole_run() -> list[Line]:
    return [
        line
        for suite, least in SUITES.items()
        for line in [
            *(Line(suite, str(at), "tests/x.py", runs=1, run="r") for at in range(least.lines)),
            Line(suite, "controls", "tests/x.py", controls=least.controls, tried=9, run="r"),
        ]
    ]


def seen(lines: list[Line]) -> list[Line]:
    return [replace(line, tried=line.controls) for line in lines]


def test_a_whole_run_is_complete() -> None:
    assert list(missing(seen(whole_run()))) == []


def test_lines_of_two_runs_are_refused() -> None:
    lines = seen(whole_run())
    for other in ("another", ""):
        (reason,) = missing([replace(lines[0], run=other), *lines[1:]])
        assert "several runs" in reason


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_without_all_its_lines_is_refused(suite: str) -> None:
    lines = seen(whole_run())
    lines.remove(next(line for line in lines if line.suite == suite))
    (reason,) = missing(lines)
    assert reason.startswith(suite)


def test_a_control_that_was_not_seen_is_counted_and_refused() -> None:
    lines = whole_run()
    assert any("controls were not seen" in reason for reason in missing(lines))
    controls = sum(least.controls for least in SUITES.values())
    assert f"{controls} of {9 * len(SUITES)} controls seen" in table(lines)


def test_nothing_is_written_of_a_part_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "kept", lambda whole=True: seen(whole_run())[:-1])
    monkeypatch.setattr(report, "PAGE", None)
    assert report.main(["--write"]) == 1


def test_a_control_that_was_not_seen_fails_its_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr("tests.faults.result.FOLDER", tmp_path)
    line = Line("Kills", "controls", "tests/x.py")
    line.control(seen=True)
    with pytest.raises(AssertionError, match="not seen: early"):
        line.control(seen=False, what="early")
    assert (line.controls, line.tried) == (1, 2)


def test_make_faults_runs_whatever_has_a_whole() -> None:
    """A share that nobody makes whole is all that is ever run."""
    root = Path(__file__).parents[2]
    recipe = (root / "Makefile").read_text().partition("\nfaults:")[2].partition("\n\n")[0]
    run = [root / word for word in recipe.split() if word.startswith("tests/")]
    assert root / "tests/faults" in run
    asks = re.compile(r"tests\.faults\.scale import .*(scaled|WHOLE)|environ.*SINGERLAKE_FAULTS")
    suites = [path for path in root.glob("tests/**/test_*.py") if asks.search(path.read_text())]
    left = [path for path in suites if not any(path.is_relative_to(one) for one in run)]
    assert [str(path.relative_to(root)) for path in left] == []
