"""What a disk answers, in the words of the store's contract."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from singerlake.errors import (
    BadName,
    NotFound,
    PermissionDenied,
    SingerlakeError,
    StoreError,
)
from singerlake.store import disk


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an `OSError` into the error that the contract names."""
    try:
        yield
    except OSError as error:
        raise _explain(error, error.filename or path) from error


def _explain(error: OSError, path: object) -> SingerlakeError:
    if isinstance(error, disk.MISSING):
        return NotFound(f"there is no {path}")
    if error.errno in (errno.EACCES, errno.EPERM):
        return PermissionDenied(
            f"no permission for {path} ({error.strerror}): "
            "let the user that runs this read and write the lake's folder"
        )
    if error.errno == errno.EXDEV:  # of the two names, the first is that of a temporary file
        return StoreError(
            f"{error.filename2 or path} is on another file system than the lake's folder: all of "
            "a lake is on one, and nothing is mounted below its folder"
        )
    if error.errno == errno.EROFS:
        return PermissionDenied(f"{path} is on a file system that is mounted read-only")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"the disk of {path} is full ({error.strerror}): make room, run again")
    if error.errno == errno.ENAMETOOLONG:
        return BadName(f"{path} is longer than the file system allows")
    return StoreError(f"{path}: {error.strerror or error}")
