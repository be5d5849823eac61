"""The command: a thin door to the raw path. Whatever needs the Singer SDK goes through its own.

To load the SDK takes most of half a second, and twice the memory, and most runs use nothing of it:
their settings are in files, and right, and no feature of the SDK is on. Where anything is not sure
to be so, the SDK looks at it, and says what is wrong in its own words.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path
from typing import IO, Any

from singerlake.errors import SingerlakeError
from singerlake.plugin import output, thin
from singerlake.plugin.config import warn_of_unknown
from singerlake.plugin.log import make_plain
from singerlake.plugin.signals import heed_hangup
from target_singerlake import settings
from target_singerlake.raw import RawIntake
from target_singerlake.run import SWITCH_INTERVAL, Run

NAME = "target-singerlake"
_OPTIONS = ("config", "input")
_KINDS = ("SCHEMA", "RECORD", "BATCH", "STATE", "ACTIVATE_VERSION")


def main() -> None:
    """Errors that are the user's to mend are one line in the log."""
    asked = thin.asked(NAME, sys.argv[1:], _OPTIONS)
    config = None if asked is None else settings.plain(thin.config_of(asked) or {})
    source = None if asked is None else _opened(asked.of("input"))
    if asked is None or config is None or source is None:
        from target_singerlake.target import main as main_of_the_sdk

        main_of_the_sdk()
        return
    output.wait_for_readers()
    make_plain()
    # The thread that compresses asks for Python's lock often, and for a moment only.
    sys.setswitchinterval(SWITCH_INTERVAL)
    with thin.logging_as_the_sdk(NAME, asked.log) as log:
        try:
            land(config, source, log)
        except SingerlakeError as error:
            log.error("%s: %s", type(error).__name__, error)
            sys.exit(1)


def _opened(paths: list[str]) -> IO[Any] | None:
    """Where messages come from; None where the file of --input cannot be read."""
    if not paths:
        return sys.stdin
    path = Path(paths[-1])
    return path.open() if path.is_file() and os.access(path, os.R_OK) else None


def land(config: dict[str, Any], source: IO[Any], log: logging.Logger) -> None:
    """One run, from its first line in the log to its last."""
    thin.log_begin(NAME, log)
    warn_of_unknown(config, settings.KNOWN, log, settings.OF_OTHER_TARGETS)
    run = Run(config, log)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, run.stop)
    heed_hangup(run.stop)
    counts = run.take(source, lambda: RawIntake(run.landing, {}, run.pause, log))
    log.info(
        "Reader '%s' completed processing %d lines of input (%d schemas, %d records, "
        "%d batch manifests, %d state messages, %d activate version messages).",
        NAME,
        sum(counts.values()),
        *(counts[kind] for kind in _KINDS),
    )
    run.finish()
    run.end()


if __name__ == "__main__":
    main()
