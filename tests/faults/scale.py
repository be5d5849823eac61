"""How much to run: a share on every change, the whole by `make faults`."""

from __future__ import annotations

import os
from typing import NoReturn, TypeVar

import pytest

VARIABLE = "SINGERLAKE_FAULTS"
WHOLE = os.environ.get(VARIABLE, "share") == "whole"

T = TypeVar("T")


def unable(reason: str) -> NoReturn:
    """What is needed is not here: a whole run and CI must not leave it out in silence."""
    if WHOLE or os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def scaled(share: T, whole: T) -> T:
    return whole if WHOLE else share
