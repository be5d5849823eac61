"""Virtual environments for peers from PyPI, which cannot share ours: made once, then kept.

They are in the user's cache folder, `singerlake-benchmarks`; remove that to have them made anew.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path


class Skipped(Exception):
    """Why there is no comparison with this peer."""


@functools.cache
def folder_of_commands(package: str) -> Path:
    """Where the package's commands and its Python are. Raises `Skipped`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # Brackets of an extra have a meaning to those who look for files by patterns.
    name = package.replace("[", "-").replace("]", "")
    folder = cache / "singerlake-benchmarks" / f"{name}-{sys.version_info.minor}"
    commands = folder / "bin"
    ready = folder / ".ready"
    if ready.exists():
        return commands
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(commands / "python"), "-m", "pip", "install", "--quiet", package],
        ):
            subprocess.run(command, check=True, capture_output=True, timeout=600)
        ready.touch()
    except (OSError, subprocess.SubprocessError) as error:
        raise Skipped(f"{package} could not be installed ({type(error).__name__})") from None
    return commands


def version(package: str) -> str:
    """The version that is installed in the package's environment."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    command = [str(folder_of_commands(package) / "python"), "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
