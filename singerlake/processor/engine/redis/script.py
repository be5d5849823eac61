"""The scripts: each is `common.lua` and a file of its own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NAMES = (
    "add",
    "cancel",
    "hand_over",
    "look",
    "manage",
    "open",
    "progress",
    "renew",
    "schedule",
    "turn",
)


@dataclass(frozen=True)
class Script:
    name: str
    text: str

    @property
    def sha(self) -> str:
        return hashlib.sha1(self.text.encode()).hexdigest()


@cache
def script(name: str) -> Script:
    folder = files("singerlake.processor.engine.redis") / "lua"
    parts = [(folder / f"{one}.lua").read_text(encoding="utf-8") for one in ("common", name)]
    return Script(name, "\n".join(parts))


SHAS = cache(lambda name: script(name).sha)
