"""Code that runs as a user to whom something can be forbidden: tests may run as root."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_DROP = """
import os
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""


def run_as_nobody(
    first: str, then: str, *arguments: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run `first` as the tests' own user, who can read the packages, and `then` as nobody."""
    command = [sys.executable, "-c", f"{first}\n{_DROP}\n{then}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)
