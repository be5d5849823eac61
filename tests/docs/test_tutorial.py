"""docs/tutorial.md, followed to the letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import runbook


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tutorial_works(tmp_path: Path) -> None:
    shown = [step for step in runbook.steps("tutorial.md") if isinstance(step, runbook.Command)]
    assert len(shown) > 15
    runbook.run("tutorial.md", tmp_path)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a  b\n", "a b\n", True),
        ("a … c\n", "a b c\n", True),
        ("a\n…\nc\n", "a\nb\nb\nc\n", True),
        ("a\n…\nc\n", "a\nc\n", True),
        ("a\n", "a\nb\n", False),
        ("", "b\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_output_is_compared_but_for_what_varies(shown: str, printed: str, same: bool) -> None:
    assert runbook.matches(shown, printed) is same
