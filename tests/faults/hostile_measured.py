"""One reader of one lake, in a process of its own: prints what came of it, and the most memory.

python -m tests.faults.hostile_measured <reader> <root> [--without-limit]
"""

from __future__ import annotations

import logging
import os
import resource
import sys
from contextlib import redirect_stdout
from pathlib import Path

from singerlake.errors import SingerlakeError
from singerlake.format import compression
from tap_singerlake.tap import TapSingerlake
from tests.faults.hostile_enemy import CHANGERS, READERS
from tests.faults.hostile_readers import Found


def main() -> None:
    name, root = sys.argv[1], Path(sys.argv[2])
    read = {**READERS, **CHANGERS, "the tap": replay}[name]
    if "--without-limit" in sys.argv:
        compression.LONGEST_LINE = 1 << 40
    logging.disable(logging.CRITICAL)
    try:
        read(root)
        outcome = "read"
    except (SingerlakeError, Found) as error:
        outcome = type(error).__name__
    print(outcome, peak())


def replay(root: Path) -> None:
    """As the command does: what comes out is not kept."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        TapSingerlake(config={"lake_root": str(root)}).sync_all()


def peak() -> int:
    """The most memory that this process has held so far, in megabytes.

    Where Linux tells it: what `getrusage` tells begins with what the parent held at the fork.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


if __name__ == "__main__":
    main()
