"""The examples of docs/processor.md, and the table of Redis keys, hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from singerlake.processor.engine.redis.script import script

PAGE = Path(__file__).parents[2] / "docs" / "processor.md"


def test_the_examples_run(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    printed = [
        subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        for block in blocks
    ]
    assert printed == [
        "[('orders/17', {'paid': True}), ('orders/17', {'sent': True})]\n",
        "(1,)\n",
    ]


def test_every_key_of_the_scripts_is_in_the_table() -> None:
    described = set(re.findall(r"^\| `\{N:S\}:([a-z]+)", PAGE.read_text(), re.M))
    used = set(re.findall(r"P \.\. '([a-z]+)", script("turn").text + script("hand_over").text))
    assert used <= described | {"other"}
    assert {"q", "k", "ready", "due", "place"} <= described
