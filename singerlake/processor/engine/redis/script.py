"""The scripts: each is `common.lua` and a file of its own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

NAMES = (
    "add",
    "cancel",
    "hand_over",
    "look",
    "manage",
    "more",
    "open",
    "progress",
    "renew",
    "schedule",
    "turn",
)

ALONE = ("more",)
"""Those that do without `common.lua`, whose functions take longer to define than to run."""


@dataclass
class Script:
    name: str
    text: str

    @cached_property
    def sha(self) -> str:
        return hashlib.sha1(self.text.encode()).hexdigest()


@cache
def script(name: str) -> Script:
    folder = files("singerlake.processor.engine.redis") / "lua"
    files_of = (name,) if name in ALONE else ("common", name)
    parts = [(folder / f"{one}.lua").read_text(encoding="utf-8") for one in files_of]
    return Script(name, "\n".join(parts))
