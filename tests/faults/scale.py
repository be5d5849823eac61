"""How much to run: a share on every change, the whole by `make faults`."""

from __future__ import annotations

import os
from typing import TypeVar

VARIABLE = "SINGERLAKE_FAULTS"
WHOLE = os.environ.get(VARIABLE, "share") == "whole"

T = TypeVar("T")


def scaled(share: T, whole: T) -> T:
    return whole if WHOLE else share
