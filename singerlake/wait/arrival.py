"""Arrivals: what came of an awaited event, where, and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

State = Literal["waiting", "received", "missed"]


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """`time` is the event's own; `position` is where its source has it, so that a reader can go on
    from there; `text` is for people."""

    time: datetime
    position: Mapping[str, Any]
    text: str = ""
