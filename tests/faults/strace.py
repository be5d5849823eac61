"""What a program does to the files below a folder, out of a log of strace.

`make packages` runs this as a program, so that a fresh machine has strace.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import packages
from tests.faults.power_cut import (
    Folder,
    Name,
    Promise,
    Step,
    Sync,
    Trace,
    Truncate,
    Write,
)
from tests.faults.scale import unable

STRACE = ("strace", "-f", "-y", "-xx", "-s", "50000000")
CALLS = (
    "chdir,openat,open,creat,write,pwrite64,writev,pwritev,lseek,ftruncate,truncate,fallocate,rename,"
    "renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,fsync,fdatasync,sync,syncfs,"
    "sync_file_range,copy_file_range,sendfile,io_uring_setup"
)
UNKNOWN = ("writev", "pwritev", "fallocate", "copy_file_range", "sendfile", "io_uring_setup")
"""Ways to write that nobody has needed here yet: a trace with one of them is refused."""


def recorded(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Trace:
    """Run a program to its end. `folder` has to be empty, and its path real."""
    if shutil.which("strace") is None:
        unable("strace is not installed: power cuts cannot be tried")
    log, printed = (folder.parent / f"{folder.name}.{what}" for what in ("strace", "printed"))
    with printed.open("w") as output:
        ended = subprocess.run(
            [*STRACE, "-e", f"trace={CALLS}", "-o", str(log), "--", *command],
            env=None if environment is None else {**os.environ, **environment},
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    if "ptrace" in ended.stderr and ended.returncode:
        unable(f"strace may not look at processes here: {ended.stderr[-300:]}")
    assert ended.returncode == 0, ended.stderr[-2000:]
    trace = Trace(folder, list(_Parser(folder, printed).steps(_calls(log.read_text()))))
    log.unlink()
    printed.unlink()
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
    def __init__(self, folder: Path, printed: Path) -> None:
        self._folder = str(folder)
        self._output = str(printed)
        """What other processes print, to pipes of their own, is no promise."""
        self._names: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._appending: set[tuple[str, int]] = set()
        self._count = 0
        self._lines: list[int] = []
        """The line of the log that each step is of."""
        self._printed = b""
        self._folder_of_process = Path.cwd()

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
        elif name == "chdir":
            (path,) = _texts(call.arguments)
            self._folder_of_process /= path
        elif name == "lseek":
            if place := self._place(call.arguments):
                self._positions[place] = int(call.answer.split()[0])
        elif name in ("ftruncate", "truncate"):
            yield from self._truncated(call)
        elif name.startswith(("mkdir", "rmdir")) or "AT_REMOVEDIR" in call.arguments:
            (path,) = self._places(call)
            if path:
                yield Folder(path, removed=not name.startswith("mkdir"))
        elif name.startswith(("rename", "unlink", "link")):
            yield from self._named(call)
        elif name in ("fsync", "fdatasync"):
            yield from self._synced(call)
        elif name in UNKNOWN and self._folder in self._paths(call.arguments):
            raise AssertionError(f"a way to write that is not understood: {name}")

    def _relative(self, path: str) -> str | None:
        if path == self._folder:
            return ""
        return (
            path.removeprefix(f"{self._folder}/") if path.startswith(self._folder + "/") else None
        )

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
            if self._paths(call.arguments) == self._output:
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

    def _places(self, call: _Call) -> list[str | None]:
        paths = []
        folders = [_decoded(one) for one in re.findall(r"AT_FDCWD<([^>]*)>", call.arguments)]
        for number, path in enumerate(_texts(call.arguments)):
            base = folders[min(number, len(folders) - 1)] if folders else self._folder_of_process
            paths.append(self._relative(os.path.normpath(Path(base) / path)))
        return paths

    def _named(self, call: _Call) -> Iterator[Step]:
        paths = self._places(call)
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


def _texts(arguments: str) -> list[str]:
    found = _TEXT.finditer(arguments)
    return [bytes.fromhex(one[1].replace("\\x", "")).decode() for one in found]


def _decoded(text: str) -> str:
    if "\\x" not in text:
        return text
    return re.sub(
        r"(?:\\x[0-9a-f]{2})+", lambda m: bytes.fromhex(m[0].replace("\\x", "")).decode(), text
    )


if __name__ == "__main__":
    if shutil.which("strace") is None:
        print("Looking for strace to try power cuts with …", flush=True)
        packages.install("strace")
    found = shutil.which("strace")
    print(f"Trying power cuts with {found}" if found else "Power cuts go untried: no strace")
