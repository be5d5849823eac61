"""Where benchmarks write: on a disk, and in memory, where no disk has a part in the times."""

from __future__ import annotations

import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import pipe

DISK, TMPFS = "disk", "tmpfs"
_IN_MEMORY = Path("/dev/shm")
_MOUNTS = Path("/proc/mounts")


@dataclass(frozen=True)
class Place:
    """A folder that is gone when the benchmarks end, and what it lies on: DISK or TMPFS."""

    folder: Path
    name: str


@functools.cache
def both() -> list[Place]:
    """That of all benchmarks, which is in the system's temporary folder, and the other kind where
    there is one that we know: in memory."""
    usual = Path(pipe.folder().name)
    if is_in_memory(usual):
        return [Place(usual, TMPFS)]
    found = [Place(usual, DISK)]
    if _IN_MEMORY.is_dir() and is_in_memory(_IN_MEMORY):
        found.append(Place(Path(_other().name), TMPFS))
    return found


def is_in_memory(folder: Path) -> bool:
    """Whether it lies on a tmpfs; false also where the system does not tell."""
    if not _MOUNTS.exists():
        return False
    mounts = [line.split()[1:3] for line in _MOUNTS.read_text().splitlines()]
    around = [(len(at), kind) for at, kind in mounts if folder.resolve().is_relative_to(at)]
    return max(around)[1] in ("tmpfs", "ramfs") if around else False


@functools.cache
def _other() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="singerlake-bench-", dir=_IN_MEMORY)
