"""Power cuts: what a disk may hold after one, for any program that writes below a folder.

`strace.recorded` runs a program, and keeps every write, truncation, rename, deletion and sync of
files below the folder, and every line that the program prints: a promise, such as `ack 7`.
`Trace.image` then builds what a disk may hold after a power cut at any of these moments. What was
synced is there. Of the rest, any part may be: writes of which only some sectors arrived, names
without their data, data without their names. A new name is durable once its folder was synced, as
POSIX has it, and not before; so is a new folder, in the one above it.

This is below SQLite and below Python, so it tries what the product does and not what it means to.
Memory that is mapped and shared is not seen: SQLite's -shm, which no recovery reads.
"""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

SECTOR = 512
Keep = Literal["nothing", "everything", "names", "data", "some", "any"]
"""Which steps arrived that nobody has synced. "any" is "some" on a disk that keeps no order of
names."""


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


@dataclass(frozen=True)
class Folder:
    """A folder is made, or removed."""

    name: str
    removed: bool = False


Step = Write | Truncate | Name | Folder | Sync | Promise
Content = Mapping[str, bytes]
"""What a disk holds: files by their names. Nobody looks for an empty folder."""


@dataclass
class Trace:
    """Once it was looked at, its steps stay what they are."""

    folder: Path
    steps: list[Step] = field(default_factory=list)
    _durable: dict[int, int | None] = field(default_factory=dict, repr=False)

    def promises(self, moment: int) -> list[str]:
        """What the program had printed by then."""
        return [one.text for one in self.steps[:moment] if isinstance(one, Promise)]

    def image(self, target: Path, moment: int, keep: Keep, seed: int = 0) -> None:
        """Build one state that a power cut after so many steps may leave."""
        write(self.content(moment, keep, seed), target)

    def content(self, moment: int, keep: Keep, seed: int = 0) -> Content:
        """One state that a power cut after so many steps may leave."""
        chance = random.Random(f"{moment} {keep} {seed}")
        return self._state(
            moment,
            lambda index: _kept(self.steps[index], keep, chance),
            chance if keep in ("some", "any") else None,
            in_order=keep != "any",
        )

    def every_content(self, moment: int, most: int, hidden: str = "") -> Iterator[Content]:
        """Every state that any set of the steps leaves that nobody has synced: a set at random,
        where there are more than `most`.

        Steps of files that never leave the folder `hidden` change nothing that is looked at.
        """
        seen = self._seen(hidden)
        open_ = [n for n in self._pending(moment) if self._concerns(self.steps[n], seen, hidden)]
        if 2 ** len(open_) <= most:
            sets = [set(s) for s in _subsets(open_)]
        else:
            chance = random.Random(moment)
            sets = [{n for n in open_ if chance.random() < 0.5} for _ in range(most)]
        for kept in sets:
            yield self._state(moment, kept.__contains__, None, in_order=False)

    def _pending(self, moment: int) -> list[int]:
        changes = (Write, Truncate, Name, Folder)
        return [
            index
            for index, step in enumerate(self.steps[:moment])
            if isinstance(step, changes) and not self._is_durable(index, step, moment)
        ]

    def _seen(self, hidden: str) -> set[int]:
        """The files that ever had a name elsewhere."""
        return {
            step.file
            for step in self.steps
            if isinstance(step, Name) and step.target and not _is_below(step.target, hidden)
        }

    def _concerns(self, step: Step, seen: set[int], hidden: str) -> bool:
        if isinstance(step, Name):
            return not _is_below(step.target or step.source, hidden)
        if isinstance(step, Folder):
            return not _is_below(f"{step.name}/", hidden)
        return isinstance(step, Write | Truncate) and step.file in seen

    def _state(
        self,
        moment: int,
        keeps: Callable[[int], bool],
        tearing: random.Random | None,
        in_order: bool,
    ) -> Content:
        data: dict[int, bytearray] = {}
        names: dict[str, int] = {}
        folders: dict[str, bool] = {}
        kept_names = True
        for index, step in enumerate(self.steps[:moment]):
            if isinstance(step, Sync | Promise):
                continue
            durable = self._is_durable(index, step, moment)
            if isinstance(step, Name | Folder):
                # A journal keeps the order of names: after the first that is gone, all are.
                kept = durable
                if not durable:
                    kept = keeps(index) and kept_names
                    kept_names = kept_names and (kept or not in_order)
                if isinstance(step, Folder):
                    folders[step.name] = not step.removed if kept else folders.get(step.name, False)
                elif kept:
                    _rename(names, step)
            elif durable or keeps(index):
                torn = tearing is not None and not durable and tearing.random() < 0.5
                _apply(data.setdefault(step.file, bytearray()), step, tearing if torn else None)
        lost = [name for name, kept in folders.items() if not kept]
        return {
            name: bytes(data.get(file, b""))
            for name, file in names.items()
            if not any(name.startswith(f"{folder}/") for folder in lost)
        }

    def _is_durable(self, index: int, step: Step, moment: int) -> bool:
        last = self._durable_from(index)
        return last is not None and last < moment

    def _durable_from(self, index: int) -> int | None:
        """The step that made this one durable."""
        if index not in self._durable:
            self._durable[index] = self._first_sync(index)
        return self._durable[index]

    def _first_sync(self, index: int) -> int | None:
        step = self.steps[index]
        for at in range(index + 1, len(self.steps)):
            later = self.steps[at]
            if not isinstance(later, Sync) or later.began <= index:
                continue
            if isinstance(step, Name | Folder):
                name = step.name if isinstance(step, Folder) else step.target or step.source
                if later.file is None and later.folder == _parent(name):
                    return at
            elif isinstance(step, Write | Truncate) and later.file == step.file:
                return at
        return None


def write(content: Content, target: Path) -> None:
    """Have a folder that holds this, and nothing else."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, data in content.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _subsets(items: list[int]) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(
        itertools.combinations(items, size) for size in range(len(items) + 1)
    )


def _is_below(name: str, folder: str) -> bool:
    return bool(folder) and name.startswith(f"{folder}/")


def _kept(step: Step, keep: Keep, chance: random.Random) -> bool:
    match keep:
        case "nothing":
            return False
        case "everything":
            return True
        case "names":
            return isinstance(step, Name | Folder)
        case "data":
            return not isinstance(step, Name | Folder)
        case "some" | "any":
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
