"""A named peer: Delta Lake's own Python library, in a virtual environment that is thrown away.

Its transaction log is the nearest thing to our manifest. This module runs twice: here, where it
makes the environment, and as a script inside of that, where it measures.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

NAME = "deltalake"
SIZES = (10, 1_000)
REPEATS = 15


class Skipped(Exception):
    """Why there is no comparison with this peer."""


def measure(url: str, options: dict[str, str]) -> dict[str, Any]:
    """Seconds and objects per commit, seconds to open, by number of commits. Raises `Skipped`."""
    command = [_python(), __file__]
    task = json.dumps({"url": url, "options": options})
    done = subprocess.run(command, input=task, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Skipped(f"{NAME} failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@functools.cache
def _environment() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="singerlake-peer-")


@functools.cache
def _python() -> str:
    folder = Path(_environment().name)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    try:
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", NAME, "pyarrow"],
        ):
            subprocess.run(command, check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        raise Skipped(f"{NAME} could not be installed ({type(error).__name__})") from None
    return str(python)


def _main() -> None:
    import deltalake  # type: ignore[import-not-found, unused-ignore]
    import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]

    task = json.load(sys.stdin)
    rows = pyarrow.table({"id": list(range(10)), "name": ["somebody"] * 10})

    def count(url: str) -> int:
        return sum(path.is_file() for path in Path(url).rglob("*")) if "://" not in url else 0

    found: dict[str, Any] = {"version": deltalake.__version__, "commits": {}}
    for size in SIZES:
        url, options = f"{task['url']}/{size}", task["options"]
        deltalake.write_deltalake(url, rows, storage_options=options)
        for number in range(size - 1):
            if number % 20 == 0:  # a table that is held gets slower with each of its appends
                table = deltalake.DeltaTable(url, storage_options=options)
            deltalake.write_deltalake(table, rows, mode="append")
        table = deltalake.DeltaTable(url, storage_options=options)
        before = count(url)
        append = partial(deltalake.write_deltalake, data=rows, mode="append")
        opening = partial(deltalake.DeltaTable, url, storage_options=options)
        held = _best(partial(append, table))
        objects = (count(url) - before) / REPEATS
        fresh = _best(partial(append, url, storage_options=options))
        opened = _best(partial(_files, opening))
        found["commits"][size] = {
            "steady": held,
            "first": fresh,
            "open": opened,
            "objects": objects,
        }
    json.dump(found, sys.stdout)


def _files(opening: Callable[[], Any]) -> object:
    return opening().file_uris()


def _best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


if __name__ == "__main__":
    _main()
