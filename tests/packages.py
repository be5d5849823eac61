"""System packages that tests need: found, or installed where that can be done.

`make test` asks for it before the tests run (`make packages`), so that a fresh machine has it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest
from filelock import FileLock


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def can_install() -> bool:
    """Whether this is a Debian, and we may install packages."""
    return is_root() and shutil.which("apt-get") is not None


def install(*packages: str) -> None:
    """Try it; whoever asked has to look whether it helped. One process at a time."""
    if not can_install():
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with FileLock(Path(tempfile.gettempdir()) / "singerlake-apt.lock"):
        for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            subprocess.run(
                ["apt-get", "-qq", *command], env=quiet, check=False, stdout=subprocess.DEVNULL
            )


def absent(reason: str) -> NoReturn:
    """What cannot be had fails in CI, and is skipped elsewhere."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
