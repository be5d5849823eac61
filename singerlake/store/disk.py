"""Durable steps on a disk that other processes are changing at the same moment."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import BinaryIO

from singerlake.errors import StoreError
from singerlake.store.base import Listed

MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_BLOCK = 1 << 20


# A link put there while we look is not followed, and a pipe is not waited for.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def open_file(path: Path) -> BinaryIO:
    """Open a file to read. A folder, pipe, device or link is none: `FileNotFoundError`."""
    try:
        handle = os.open(path, _READ | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileNotFoundError(error.errno, "a symbolic link", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError(errno.ENOENT, "not a file", str(path))
    return open(handle, "rb")  # noqa: PTH123


def link_on_the_way(path: Path, root: Path) -> Path | None:
    """The first symbolic link among the folders below the root that lead to the path, or itself."""
    step = str(root).rstrip(os.sep)
    for name in path.parts[len(root.parts) :]:
        step = f"{step}{os.sep}{name}"
        try:
            if stat.S_ISLNK(os.lstat(step).st_mode):
                return Path(step)
        except OSError:  # nothing leads further; who opens the path is told why
            return None
    return None


def write_new(path: Path, data: bytes | Path | BinaryIO, durable: bool = True) -> str:
    """Write a file that must be new, and flush it to the disk; returns the content's hash."""
    digest = hashlib.sha256()
    with path.open("xb") as target:
        for block in _blocks(data):
            digest.update(block)
            target.write(block)
        if durable:
            target.flush()
            os.fsync(target.fileno())
    return digest.hexdigest()


def sync_file(path: Path) -> None:
    """Flush to the disk what was written to the file, by whomever."""
    with open_file(path) as file:
        os.fsync(file.fileno())


def file_hash(path: Path) -> str:
    """The hash of the file's content, as `write_new` gives it."""
    digest = hashlib.sha256()
    with open_file(path) as source:
        for block in _file_blocks(source):
            digest.update(block)
    return digest.hexdigest()


TRIES = 100
"""How often a folder is made again that another process prunes at the same moment."""


def link_new(source: Path, path: Path, durable: bool = True) -> None:
    """Give the file a second name, which must be new, in a folder that is made if need be.

    The folder is durable whatever the name is: others will lie in it.
    """
    tries = 0
    while True:
        make_folder(path.parent)
        try:
            os.link(source, path)
        except FileNotFoundError:
            tries += 1
            if tries > TRIES or not source.exists():
                raise
            continue  # the folder was pruned since: make it again
        return sync_folder(path.parent) if durable else None


def make_folder(folder: Path) -> None:
    """`mkdir -p`, durable, even while another process prunes empty folders."""
    tries = 0
    while not folder.is_dir():
        try:
            folder.mkdir()
            sync_folder(folder.parent)
        except (FileNotFoundError, NotADirectoryError):
            tries += 1
            if tries > TRIES:
                # Not another process: a file system, such as /proc, that makes no folders.
                raise
            make_folder(folder.parent)
        except FileExistsError:
            if os.path.lexists(folder) and not folder.is_dir():
                raise StoreError(f"{folder} is an object: it cannot be a folder too") from None


def prune(folder: Path, root: Path) -> None:
    """Remove the folder, and those above it and below the root, as far as they are empty."""
    while folder != root:
        try:
            folder.rmdir()  # the system refuses where it is in use again
        except OSError:
            return
        folder = folder.parent


def remove_old(folder: Path, limit: float, kept: str) -> int:
    """Remove the folder's files that have not changed since, but for this one; returns how many."""
    removed = 0
    for path in folder.glob("*"):
        with contextlib.suppress(FileNotFoundError):  # its writer has just finished
            found = path.lstat()
            if path.name != kept and found.st_mtime < limit and not stat.S_ISDIR(found.st_mode):
                path.unlink()
                removed += 1
    return removed


def sync_folder(folder: Path) -> None:
    """Make names in the folder durable, as far as the system offers it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """The files and folders in the folder that are not hidden; links and the like are none.

    Nothing where there is no such folder.
    """
    with contextlib.suppress(*MISSING), os.scandir(folder) as found:
        return [entry for entry in found if not entry.name.startswith(".") and _is_plain(entry)]
    return []


def _is_plain(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)


def walk(folder: Path, prefix: str) -> Iterator[Listed]:
    """Every file below the folder, in the order of the keys, which begin with the prefix."""
    left = _last_first(folder, prefix)  # no recursion: folders may be deeper than Python's stack
    while left:
        key, entry = left.pop()
        if key.endswith("/"):
            left += _last_first(Path(entry.path), key)
        else:
            yield from _listed(key, entry)


def files_after(folder: Path, prefix: str, after: str) -> Iterator[Listed]:
    """The files directly in the folder whose names sort after this name, in order."""
    for entry in sorted(entries(folder), key=lambda entry: entry.name):
        if entry.name > after and entry.is_file():
            yield from _listed(prefix + entry.name, entry)


def _listed(key: str, entry: os.DirEntry[str]) -> Iterator[Listed]:
    with contextlib.suppress(FileNotFoundError):  # deleted while we walked
        stat = entry.stat()
        yield Listed(key, stat.st_size, moment(stat.st_mtime), listed_version(stat))


def _last_first(folder: Path, prefix: str) -> list[tuple[str, os.DirEntry[str]]]:
    # A folder sorts as if its name ended in "/", so that `a!` comes before `a/x`.
    named = [(prefix + entry.name + "/" * entry.is_dir(), entry) for entry in entries(folder)]
    return sorted(named, key=lambda pair: pair[0], reverse=True)


_LATEST = datetime(9999, 12, 31, tzinfo=timezone.utc).timestamp()


def moment(seconds: float) -> datetime:
    """The nearest moment from 1970 to 9999: a file's time can be set to anything."""
    return datetime.fromtimestamp(min(max(seconds, 0.0), _LATEST), timezone.utc)


def listed_version(stat: os.stat_result) -> str:
    """What tells a file from others of its name without reading it; no hash looks like this.

    The number of its inode would not: it is given anew, and some mounts invent it.
    """
    return f"{stat.st_size}-{stat.st_mtime_ns}"


SETTLED = 2.0
"""Seconds after which a file's next change surely gets another time: FAT counts in steps of two."""


def validator(stat: os.stat_result, now: float) -> str:
    """What stays the same while a file does; "" while a change could still leave it as it is."""
    if now - stat.st_mtime < SETTLED:
        return ""
    return f"{stat.st_size}-{stat.st_mtime_ns}-{stat.st_ino}"


def _blocks(data: bytes | Path | BinaryIO) -> Iterator[bytes]:
    if isinstance(data, Path):
        with data.open("rb") as source:
            yield from _file_blocks(source)
    elif isinstance(data, bytes):
        yield data
    else:
        yield from _file_blocks(data)


def _file_blocks(source: BinaryIO) -> Iterator[bytes]:
    while block := source.read(_BLOCK):
        yield block
