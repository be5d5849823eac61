"""Programs from PyPI, each in a virtual environment of its own, made when a test first asks.

The requirements are pinned to the last dependency, for every Python that we support:

    echo tap-jsonl==0.3.1 | uv pip compile --universal --python-version 3.10 --no-annotate -

So there is nothing to resolve, and an environment takes seconds. It lies inside the environment
that runs the tests, and is made again when its requirements change.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from filelock import FileLock
from uv import find_uv_bin

REQUIREMENTS = Path(__file__).parent / "requirements"
CACHE = Path(sys.prefix) / "plugins"


def program(name: str) -> Path:
    """A plugin's executable; `meltanolabs-tap-x` is a package of `tap-x`."""
    folder = environment(REQUIREMENTS / f"{name}.txt", name)
    return folder / "bin" / re.sub("^(meltanolabs|pipelinewise)-", "", name)


def environment(requirements: Path, name: str) -> Path:
    """The folder of a virtual environment with these packages."""
    folder = CACHE / name
    pins = requirements.read_bytes() + sys.version.encode()
    wanted = hashlib.sha256(pins).hexdigest()
    ready = folder / "ready"
    CACHE.mkdir(exist_ok=True)
    with FileLock(CACHE / f"{name}.lock"):
        if not ready.exists() or ready.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, requirements)
            ready.write_text(wanted)
    return folder


def _make(folder: Path, requirements: Path) -> None:
    venv.create(folder, symlinks=True)
    uv = [find_uv_bin(), "pip", "install", "--python", str(folder / "bin" / "python")]
    install = [*uv, "-q", "--no-deps", "-r", str(requirements)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
