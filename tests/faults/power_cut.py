"""Power cuts: what a disk may hold after one, for any program that writes below a folder.

`recorded` runs a program under strace, and keeps every write, truncation, rename, deletion and sync
of files below the folder, and every line that the program prints: a promise, such as `ack 7`.
`Trace.image` then builds what a disk may hold after a power cut at any of these moments. What was
synced is there. Of the rest, any part may be: writes of which only some sectors arrived, names
without their data, data without their names. A new name is durable once its folder was synced, as
POSIX has it, and not before.

This is below SQLite and below Python, so it tries what the product does and not what it means to.
Memory that is mapped and shared is not seen: SQLite's -shm, which no recovery reads.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.faults.scale import unable

SECTOR = 512
CALLS = (
    "openat,open,creat,write,pwrite64,writev,pwritev,lseek,ftruncate,truncate,fallocate,rename,"
    "renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat,fsync,fdatasync,sync,syncfs,"
    "sync_file_range,copy_file_range,sendfile,io_uring_setup"
)
UNKNOWN = ("writev", "pwritev", "fallocate", "copy_file_range", "sendfile", "io_uring_setup")
"""Ways to write that nobody has needed here yet: a trace with one of them is refused."""

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
    return os.path.dirname(name)


def recorded(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Trace:
    """Run a program to its end. `folder` has to be empty, and its path real."""
    if shutil.which("strace") is None:
        unable("strace is not installed: power cuts cannot be tried")
    log = folder.parent / f"{folder.name}.strace"
    ended = subprocess.run(
        ["strace", "-f", "-y", "-xx", "-s", "50000000", "-e", f"trace={CALLS}", "-o", str(log)]
        + ["--", *command],
        env=None if environment is None else {**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in ended.stderr and ended.returncode:
        unable(f"strace may not look at processes here: {ended.stderr[-300:]}")
    assert ended.returncode == 0, ended.stderr[-2000:]
    trace = Trace(folder, list(_Parser(folder).steps(_calls(log.read_text()))))
    log.unlink()
    return trace


@dataclass(frozen=True)
class _Call:
    name: str
    arguments: str
    answer: str
    began: int
    ended: int


_LINE = re.compile(r"^(\d+)\s+(\w+)\((.*)\)\s+=\s+(.+)$")
_BEGUN = re.compile(r"^(\d+)\s+(\w+)\((.*?),?\s*<unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+)\s+<\.\.\. (\w+) resumed>(.*)\)\s+=\s+(.+)$")


def _calls(log: str) -> Iterator[_Call]:
    """In the order in which they ended, with the order in which they began."""
    begun: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(log.splitlines()):
        if match := _LINE.match(line):
            yield _Call(match[2], match[3], match[4], number, number)
        elif match := _BEGUN.match(line):
            begun[match[1]] = number, match[3]
        elif (match := _RESUMED.match(line)) and match[1] in begun:
            began, arguments = begun.pop(match[1])
            yield _Call(match[2], arguments + match[3], match[4], began, number)


_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_FILE = re.compile(r"^(\d+)<([^>]*)>")


class _Parser:
    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._names: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._appending: set[tuple[str, int]] = set()
        self._count = 0
        self._lines: list[int] = []
        """The line of the log that each step is of."""
        self._printed = b""

    def steps(self, calls: Iterator[_Call]) -> Iterator[Step]:
        for call in calls:
            if call.answer.startswith("-1") or call.answer.startswith("?"):
                continue
            for step in self._of(call):
                self._lines.append(call.began)
                yield step

    def _of(self, call: _Call) -> Iterator[Step]:
        name = call.name
        if name in ("openat", "open", "creat"):
            yield from self._opened(call)
        elif name in ("write", "pwrite64"):
            yield from self._written(call)
        elif name == "lseek":
            if place := self._place(call.arguments):
                self._positions[place] = int(call.answer.split()[0])
        elif name in ("ftruncate", "truncate"):
            yield from self._truncated(call)
        elif name.startswith(("rename", "unlink", "link")):
            yield from self._named(call)
        elif name in ("fsync", "fdatasync"):
            yield from self._synced(call)
        elif name in UNKNOWN and self._folder in self._paths(call.arguments):
            raise AssertionError(f"a way to write that is not understood: {name}")

    def _relative(self, path: str) -> str | None:
        if path == self._folder:
            return ""
        return path.removeprefix(f"{self._folder}/") if path.startswith(self._folder + "/") else None

    def _place(self, arguments: str) -> tuple[str, int] | None:
        found = _FILE.match(arguments)
        if found is None:
            return None
        relative = self._relative(_decoded(found[2]))
        return None if relative is None else (relative, int(found[1]))

    def _paths(self, arguments: str) -> str:
        return " ".join(_decoded(text) for text in re.findall(r"<([^>]*)>", arguments))

    def _opened(self, call: _Call) -> Iterator[Step]:
        place = self._place(call.answer)
        if place is None or "O_DIRECTORY" in call.arguments:
            return
        relative = place[0]
        self._positions[place] = 0
        (self._appending.add if "O_APPEND" in call.arguments else self._appending.discard)(place)
        if relative not in self._names and "O_CREAT" in call.arguments:
            self._count += 1
            self._names[relative] = self._count
            self._sizes[self._count] = 0
            yield Name(self._count, target=relative)
        if "O_TRUNC" in call.arguments and self._sizes.get(self._names.get(relative, 0)):
            self._sizes[self._names[relative]] = 0
            yield Truncate(self._names[relative], 0)

    def _written(self, call: _Call) -> Iterator[Step]:
        found = _TEXT.search(call.arguments)
        data = b"" if found is None else bytes.fromhex(found[1].replace("\\x", ""))
        place = self._place(call.arguments)
        if place is None:
            if call.arguments.startswith("1<"):
                yield from self._promised(data)
            return
        file = self._names.get(place[0])
        if file is None:
            return  # deleted already
        size = int(call.answer.split()[0])
        if call.name == "pwrite64":
            offset = int(call.arguments.rpartition(",")[2])
        elif place in self._appending:
            offset = self._sizes[file]
        else:
            offset = self._positions.get(place, 0)
        if call.name == "write":
            self._positions[place] = offset + size
        self._sizes[file] = max(self._sizes[file], offset + size)
        yield Write(file, offset, data[:size])

    def _promised(self, data: bytes) -> Iterator[Step]:
        *lines, self._printed = (self._printed + data).split(b"\n")
        yield from (Promise(line.decode()) for line in lines)

    def _truncated(self, call: _Call) -> Iterator[Step]:
        place = self._place(call.arguments)
        if place is not None and place[0] in self._names:
            size = int(call.arguments.rpartition(",")[2])
            self._sizes[self._names[place[0]]] = size
            yield Truncate(self._names[place[0]], size)

    def _named(self, call: _Call) -> Iterator[Step]:
        paths = []
        folders = [_decoded(one) for one in re.findall(r"AT_FDCWD<([^>]*)>", call.arguments)]
        for number, found in enumerate(_TEXT.finditer(call.arguments)):
            path = bytes.fromhex(found[1].replace("\\x", "")).decode()
            base = folders[min(number, len(folders) - 1)] if folders else os.getcwd()
            paths.append(self._relative(os.path.normpath(os.path.join(base, path))))
        if call.name.startswith("unlink"):
            if paths[0] is not None and paths[0] in self._names:
                yield Name(self._names.pop(paths[0]), source=paths[0])
        elif call.name.startswith("rename"):
            source, target = paths
            if source is not None and target is not None and source in self._names:
                self._names[target] = self._names.pop(source)
                yield Name(self._names[target], source, target)
        elif paths[0] in self._names and paths[1] is not None:
            self._names[paths[1]] = self._names[str(paths[0])]
            yield Name(self._names[paths[1]], target=paths[1])

    def _synced(self, call: _Call) -> Iterator[Step]:
        place = self._place(call.arguments)
        if place is None:
            return
        began = sum(line < call.began for line in self._lines)
        if place[0] in self._names:
            yield Sync(self._names[place[0]], "", began)
        else:
            yield Sync(None, place[0], began)


def _decoded(text: str) -> str:
    if "\\x" not in text:
        return text
    return re.sub(r"(?:\\x[0-9a-f]{2})+", lambda m: bytes.fromhex(m[0].replace("\\x", "")).decode(), text)
