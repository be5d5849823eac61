"""The folder that the site is written to.

Pages are made in a folder of their own inside it, and moved into place when all are there: whatever
goes wrong on the way, the former site stays as it was.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from singerlake.errors import ConfigError
from singerlake.format.document import encode_object

MARK = "singerlake-site.json"
"""The file that tells a site from any other folder: what the site was made of, and when."""

KIND = "singerlake.site"

OWN = ("find", "static", "stream", "tap")
"""Folders of which everything is the site's: what a new site has no more is removed."""

_MAKING = ".making-"

_OLD = 24 * 3600.0
"""Seconds after which a draft is taken for what a killed build left."""


class Draft:
    """A site in the making."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, page: str, data: bytes) -> None:
        """Raises `ConfigError` where the draft is gone: made again, it would lack other pages."""
        inner = [*Path(page).parents][:-1]  # all but the draft's own folder
        try:
            for below in reversed(inner):
                (self._folder / below).mkdir(exist_ok=True)
            (self._folder / page).write_bytes(data)
        except FileNotFoundError:
            raise _removed(self._folder) from None


@contextmanager
def writing(folder: Path) -> Iterator[Draft]:
    """A draft of the site, which takes the place of the former one when the block is left.

    Raises `ConfigError` where the folder holds anything but a site.
    """
    require_ours(folder)
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder)
        making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=folder))
    try:
        yield Draft(making)
        with _told(folder):
            _publish(making, folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def mark(**facts: Any) -> bytes:
    """What to write as `MARK`."""
    return encode_object(msgspec.to_builtins({"format": KIND, **facts}))


def require_ours(folder: Path) -> None:
    """Raises `ConfigError` unless the folder is missing, empty, or a site."""
    others: list[Path] = []
    with _told(folder):
        if folder.exists():
            others = [path for path in folder.iterdir() if not path.name.startswith(_MAKING)]
    if others and not _is_site(folder / MARK):
        raise ConfigError(
            f"{folder} is not empty, and no site that Singerlake made: nothing was written; "
            "give --out a new folder"
        )


def _clear(folder: Path) -> None:
    """Removes old drafts. A new one may be that of a build that runs at this moment."""
    for left in folder.glob(f"{_MAKING}*"):
        with suppress(OSError):  # another build may clear them too
            if time.time() - left.stat().st_mtime > _OLD:
                # Renamed first: a build that runs all the same loses all of it, not a part.
                shutil.rmtree(left.rename(f"{left}-gone"), ignore_errors=True)


def _removed(making: Path) -> ConfigError:
    return ConfigError(
        f"{making} is gone: another build of {making.parent} removed it; run one at a time, "
        "and run this one again"
    )


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """A disk that refuses is told in one line."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"cannot write the site to {folder}: {error}") from error


def _is_site(mark: Path) -> bool:
    try:
        body = json.loads(mark.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(body, dict) and body.get("format") == KIND


def _publish(making: Path, folder: Path) -> None:
    """Pages first, the way to them after, then what is no more goes: no link is ever dead."""
    made = [path for path in making.rglob("*") if path.is_file()]
    if not making.is_dir():  # then the list is not whole, and every other page would be removed
        raise _removed(making)
    # The mark comes before all: should this be cut short, the next build knows the folder.
    made.sort(key=lambda path: (path.name != MARK, path.parent == making))
    kept = set()
    for path in made:
        place = folder / path.relative_to(making)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
        kept.add(place)
    for own in OWN:
        below = sorted((folder / own).rglob("*"), reverse=True)
        for path in below:
            if path.is_dir() and not path.is_symlink():
                if not any(path.iterdir()):
                    path.rmdir()
            elif path not in kept:
                path.unlink()
