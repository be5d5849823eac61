"""The first steps of docs/tutorial.md, as on a fresh machine: from a checkout to a lake."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITH_SPARK = '".[spark]"'


def copy_of_the_checkout(folder: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git tells what belongs to a checkout")
def test_a_checkout_installs_on_a_fresh_machine(tmp_path: Path) -> None:
    """Without Spark: it is some hundred megabytes more, and the demo needs none."""
    copy_of_the_checkout(tmp_path)
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    script = "".join(re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S))
    assert script.count(WITH_SPARK) == 1
    done = subprocess.run(
        ["bash", "-euc", f"{script.replace(WITH_SPARK, '.')}\nsingerlake demo"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{sys.base_prefix}/bin{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 added, 1 changed" in done.stdout
    assert (tmp_path / "tutorial" / "demo-lake" / "raw" / "singerlake.json").is_file()
