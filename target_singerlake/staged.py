"""Files that a tap has staged: only what lies below one prefix may be stored.

A record names its files. Without a border, a tap could land `/etc/passwd`.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

import fsspec

from singerlake.errors import BadFile, ConfigError
from singerlake.lake.blobs.attaching import Stage
from singerlake.lake.blobs.staged import Staged
from singerlake.store.address import public_url

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0)
_ENCODED = ("%2e", "%2f", "%5c", "::", "\\", "?", "#")
"""What could lead a URL elsewhere than its text says."""


def stage(prefix: str) -> Stage:
    """What opens files below the prefix, a local folder or an fsspec URL. Raises `ConfigError`."""
    if "://" in prefix and not prefix.startswith("file://"):
        return _remote(prefix)
    folder = Path(_local_path(prefix)).expanduser()
    try:
        root = folder.resolve(strict=True)
    except (OSError, RuntimeError):
        root = None
    if root is None or not root.is_dir():
        raise ConfigError(f"staged_files is {prefix!r}: expected a folder that is there, or a URL")
    known = tuple(dict.fromkeys((Path(os.path.abspath(folder)), root)))  # noqa: PTH100

    def opened(value: str) -> Staged:
        return Staged(value, lambda: _open_below(root, _below(value, known)))

    return opened


def _local_path(address: str) -> str:
    return unquote(urlsplit(address).path) if address.startswith("file://") else address


def _below(value: str, known: tuple[Path, ...]) -> tuple[str, ...]:
    """The names that lead from the prefix to the file. Raises `BadFile`."""
    if "://" in value and not value.startswith("file://"):
        raise _outside(value)
    path = Path(_local_path(value))
    if "\0" in value or ".." in path.parts:
        raise _outside(value)
    whole = Path.cwd() / path
    for prefix in known:
        if whole != prefix and whole.is_relative_to(prefix):
            return whole.relative_to(prefix).parts
    raise _outside(value)


def _open_below(root: Path, names: tuple[str, ...]) -> BinaryIO:
    """Open folder after folder, none of them by a link: nobody can put one there meanwhile."""
    if os.open not in os.supports_dir_fd:
        return _open_resolved(root, names)
    folder = os.open(root, os.O_RDONLY)
    try:
        for name in names[:-1]:
            below = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        handle = os.open(names[-1], _READ, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise BadFile(
                f"{root.joinpath(*names)}: a symbolic link, or no folder, on the way: expected "
                "plain folders and a plain file below staged_files"
            ) from None
        raise
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a plain file")
    return open(handle, "rb")  # noqa: PTH123


def _open_resolved(root: Path, names: tuple[str, ...]) -> BinaryIO:
    """Where the system opens no file relative to a folder (Windows)."""
    path = root.joinpath(*names).resolve(strict=True)
    if not path.is_relative_to(root):
        raise _outside(str(root.joinpath(*names)))
    return path.open("rb")


def _remote(prefix: str) -> Stage:
    start = prefix.rstrip("/") + "/"

    def opened(value: str) -> Staged:
        rest = value[len(start) :]
        parts = rest.split("/")
        led_away = any(mark in rest.lower() for mark in _ENCODED)
        if not value.startswith(start) or led_away or not set(parts).isdisjoint(("", ".", "..")):
            raise _outside(value)
        return Staged(public_url(value), lambda: _open_remote(start, rest))

    return opened


def _open_remote(start: str, rest: str) -> BinaryIO:
    """By the prefix's file system: nothing in a value chooses another."""
    try:
        files: Any
        files, root = fsspec.url_to_fs(start)
        return cast(BinaryIO, files.open(f"{root.rstrip('/')}/{rest}", "rb"))
    except FileNotFoundError:
        raise
    except Exception as error:  # each file system has errors of its own, and some quote secrets
        raise OSError(errno.EIO, type(error).__name__) from error


def _outside(value: str) -> BadFile:
    return BadFile(
        f"{public_url(value)!r}: expected a file below the prefix that the setting staged_files "
        "names; nothing else may be stored"
    )
