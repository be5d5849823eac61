"""A tap for tests: prints the first lines of a file, and then ends as it is told.

    python tap.py FILE COUNT exit CODE | kill | wait PATH

`wait` says that it is there by a file, and then hangs: somebody else kills it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import islice
from pathlib import Path


def main() -> None:
    file, count, end, *more = sys.argv[1:]
    with Path(file).open("rb") as lines:
        sys.stdout.buffer.writelines(islice(lines, int(count)))
    sys.stdout.buffer.flush()
    if end == "exit":
        sys.exit(int(more[0]))
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    Path(more[0]).touch()
    time.sleep(600)


if __name__ == "__main__":
    main()
