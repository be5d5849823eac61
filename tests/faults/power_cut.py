"""Power cuts: what a disk may hold after one, for any program that writes below a folder.

`strace.recorded` runs a program, and keeps every write, truncation, rename, deletion and sync of
files below the folder, and every line that the program prints: a promise, such as `ack 7`.
`Trace.image` then builds what a disk may hold after a power cut at any of these moments. What was
synced is there. Of the rest, any part may be: writes of which only some sectors arrived, names
without their data, data without their names. A new name is durable once its folder was synced, as
POSIX has it, and not before.

This is below SQLite and below Python, so it tries what the product does and not what it means to.
Memory that is mapped and shared is not seen: SQLite's -shm, which no recovery reads.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

SECTOR = 512
Keep = Literal["nothing", "everything", "names", "data", "some"]


@dataclass(frozen=True)
class Write:
    file: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncate:
    file: int
    size: int


@dataclass(frozen=True)
class Name:
    """`target` gets the file; `source` loses it. A deletion has no target, a creation no source."""

    file: int
    source: str = ""
    target: str = ""


@dataclass(frozen=True)
class Sync:
    """Of a file's data, or of a folder's names; covers what came before the call began."""

    file: int | None
    folder: str
    began: int


@dataclass(frozen=True)
class Promise:
    text: str


Step = Write | Truncate | Name | Sync | Promise


@dataclass
class Trace:
    folder: Path
    steps: list[Step] = field(default_factory=list)

    def promises(self, moment: int) -> list[str]:
        """What the program had printed by then."""
        return [one.text for one in self.steps[:moment] if isinstance(one, Promise)]

    def image(self, target: Path, moment: int, keep: Keep, seed: int = 0) -> None:
        """Build one state that a power cut after so many steps may leave."""
        chance = random.Random(f"{moment} {keep} {seed}")
        data: dict[int, bytearray] = {}
        names: dict[str, int] = {}
        kept_names = True
        for index, step in enumerate(self.steps[:moment]):
            durable = self._is_durable(index, step, moment)
            if isinstance(step, Name):
                # A journal keeps the order of names: after the first that is gone, all are.
                if not durable:
                    kept_names = kept_names and _kept(step, keep, chance)
                if durable or kept_names:
                    _rename(names, step)
            elif isinstance(step, Write | Truncate) and (durable or _kept(step, keep, chance)):
                torn = keep == "some" and not durable and chance.random() < 0.5
                _apply(data.setdefault(step.file, bytearray()), step, chance if torn else None)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name, file in names.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.get(file, b""))

    def _is_durable(self, index: int, step: Step, moment: int) -> bool:
        for later in self.steps[index + 1 : moment]:
            if not isinstance(later, Sync) or later.began <= index:
                continue
            if isinstance(step, Name):
                folders = {_parent(name) for name in (step.source, step.target) if name}
                if later.file is None and later.folder in folders:
                    return True
            elif isinstance(step, Write | Truncate) and later.file == step.file:
                return True
        return False


def _kept(step: Step, keep: Keep, chance: random.Random) -> bool:
    match keep:
        case "nothing":
            return False
        case "everything":
            return True
        case "names":
            return isinstance(step, Name)
        case "data":
            return not isinstance(step, Name)
        case "some":
            return chance.random() < 0.5


def _rename(names: dict[str, int], step: Name) -> None:
    if step.source and not step.target:
        names.pop(step.source, None)
    elif step.target:
        if step.source:
            names.pop(step.source, None)
        names[step.target] = step.file


def _apply(content: bytearray, step: Write | Truncate, torn: random.Random | None) -> None:
    if isinstance(step, Truncate):
        del content[step.size :]
        content.extend(bytes(step.size - len(content)))
        return
    end = step.offset + len(step.data)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if torn is None:
        content[step.offset : end] = step.data
        return
    for start in range(step.offset - step.offset % SECTOR, end, SECTOR):
        first, last = max(start, step.offset), min(start + SECTOR, end)
        if torn.random() < 0.5:
            content[first:last] = step.data[first - step.offset : last - step.offset]


def _parent(name: str) -> str:
    return name.rpartition("/")[0]
