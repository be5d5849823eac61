"""A virtual environment with Airflow, which cannot share ours: made once, then kept.

It is in the user's cache folder, `singerlake-tests`; remove that to have it made anew. Our own
package is installed beside it for each run, as a wheel: with its entry points, as users get it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from tests.packages import absent

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ["apache-airflow>=3.3", "aiosmtpd>=1.4", "psycopg2-binary>=2.9"]
"""A mail server, too, and what Airflow itself talks to PostgreSQL with."""

UV = [sys.executable, "-m", "uv", "pip", "install", "--quiet"]


@functools.cache
def environment() -> Path:
    """The Python that has Airflow and what our package needs, without our package."""
    project = REPOSITORY / "pyproject.toml"
    pins = REPOSITORY / "constraints.txt"
    key = hashlib.sha256(pins.read_bytes() + repr(PACKAGES).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "singerlake-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"airflow-{sys.version_info.major}.{sys.version_info.minor}-{key}"
    python = folder / "bin" / "python"
    with FileLock(f"{folder}.lock"):
        if not (folder / ".ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            venv = [sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable]
            needs = ["-r", str(project), "--extra", "wait", "--extra", "kafka"]
            _run([*venv, str(folder)])
            _run([*UV, "--python", str(python), "--constraint", str(pins), *PACKAGES, *needs])
            (folder / ".ready").touch()
    return python


def install_ours(folder: Path) -> Path:
    """Our wheel, in a folder for PYTHONPATH."""
    _run([*UV, "--python", str(environment()), "--no-deps", "--target", str(folder), "."])
    return folder


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or b""
        absent(f"Airflow could not be installed: {error} {said.decode(errors='replace')[-500:]}")
