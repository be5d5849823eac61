"""Files to be put: a local path, an fsspec URL, or what comes in on stdin."""

from __future__ import annotations

import mimetypes
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from singerlake.errors import BadFile, ConfigError
from singerlake.lake.blobs.staged import Staged, Taken
from singerlake.lake.scratch import temporary_folder
from singerlake.store.address import public_url

STDIN = "-"


@dataclass(frozen=True)
class Origin:
    """A file to be put, by its name, and where it comes from, without secrets."""

    name: str
    source: str
    staged: Staged

    @property
    def media_type(self) -> str | None:
        return mimetypes.guess_type(self.name)[0]


@contextmanager
def origin(address: str, name: str | None, taken: Taken) -> Iterator[Origin]:
    """The file at this address. What comes in on stdin is kept in a temporary file meanwhile: it
    is read twice. Raises `BadFile` and `ConfigError`."""
    if address != STDIN:
        yield _at(address, name, taken)
        return
    if sys.stdin is None or sys.stdin.closed:
        raise ConfigError("stdin is closed: pipe a file in, or name one")
    with temporary_folder() as folder:
        copy = Path(folder, "stdin")
        with copy.open("xb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target, 1 << 20)
        staged = Staged("stdin", lambda: copy.open("rb"), taken)
        yield Origin(name or "stdin", STDIN, staged)


def _at(address: str, name: str | None, taken: Taken) -> Origin:
    last = address.rstrip("/").rpartition("/")[2]
    if "://" in address:
        shown = public_url(address)
        return Origin(name or last, shown, Staged(shown, lambda: _opened(address), taken))
    path = Path(address)
    if path.is_dir():
        raise BadFile(f"{address}: expected a file, found a folder; name the files in it")
    where = str(path.absolute())
    return Origin(name or path.name, where, Staged(address, lambda: path.open("rb"), taken))


def _opened(url: str) -> BinaryIO:
    import fsspec  # half a second that a local file does not need

    try:
        return cast(BinaryIO, fsspec.open(url, "rb").open())
    except Exception as error:  # each file system has errors of its own
        raise OSError(0, type(error).__name__) from error
