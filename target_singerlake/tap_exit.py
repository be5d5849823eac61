"""How the tap ended, where `singerlake land` started it and reports its exit code.

`land` hands the target the reading end of a pipe. It writes the exit code into it when the tap has
ended, and closes it. Where `land` dies first, the pipe ends without a code.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from singerlake.lake.runs.surroundings import TAP_EXIT

LOOK_EVERY = 0.2
"""Seconds after which a signal is noticed while the tap is waited for."""


@dataclass(frozen=True)
class TapExit:
    """`code` is the tap's exit code, below 0 the signal that ended it; None where nobody saw it.

    `expected`: somebody set out to see it.
    """

    code: int | None = None
    expected: bool = False


def wait(environment: Mapping[str, str], stopped: Callable[[], bool]) -> TapExit:
    """How the tap ended: waits until it has, where its end is reported, or until `stopped`."""
    descriptor = environment.get(TAP_EXIT, "")
    if not descriptor.isdecimal():
        return TapExit()
    text = b""
    try:
        while not stopped():
            if not select.select([int(descriptor)], [], [], LOOK_EVERY)[0]:
                continue
            data = os.read(int(descriptor), 64)
            if not data:
                break
            text += data
    except OSError:
        return TapExit(expected=True)  # the pipe is not ours
    # Whole only with its line feed: a writer may die in between.
    number = text.removesuffix(b"\n")
    if text.endswith(b"\n") and number.removeprefix(b"-").isdigit():
        return TapExit(int(number), expected=True)
    return TapExit(expected=True)
