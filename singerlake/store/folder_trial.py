"""What a folder's file system really does with locks and links, found by trying.

A network mount may take a lock and hold nobody back. So once for each lake and host, before the
first write, another process tries to have what this one has.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import subprocess
import sys
import uuid
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from singerlake.store import rival

logger = logging.getLogger("singerlake.store")

_SECONDS = 30.0  # for a process that needs a few hundredths: longer means a lock that hangs


@dataclass(frozen=True)
class Kept:
    """`locks` hold between processes; a name that is taken is not `linked` again."""

    locks: bool
    links: bool


ON_TRUST = Kept(locks=True, links=True)
_known: dict[int, Kept] = {}
"""By device: what one folder of a file system does, the others do too."""


def find(folder: Path) -> Kept:
    """What was found out in this folder by this host; it is tried where nobody has.

    The folder is the store's own, and must be there. Raises `OSError`.
    """
    device = folder.stat().st_dev
    if device not in _known:
        known = _read(folder, device)
        if known is None:
            return renew(folder)
        _known[device] = known
    return _known[device]


def renew(folder: Path) -> Kept:
    """Try it now, whatever was found out before, and keep that. Raises `OSError`."""
    device = folder.stat().st_dev
    found = _tried_by_two(folder)
    _write(folder, device, found)
    _known[device] = found
    return found


def _tried_by_two(folder: Path) -> Kept:
    if os.name == "nt":
        return ON_TRUST
    unique = uuid.uuid4().hex
    paths = [str(folder / f"{unique}.{name}") for name in ("lock", "file", "link")]
    try:
        return _tried(*paths)
    finally:
        for path in paths:
            Path(path).unlink(missing_ok=True)


def _tried(locked: str, source: str, taken: str) -> Kept:
    Path(source).touch()
    handle, works = _locked(locked)
    can_link = _linked(source, taken)
    try:
        answer = _ask(locked, source if can_link else "", taken)
    finally:
        if handle is not None:
            os.close(handle)
    if answer is None:
        return Kept(works, True)
    theirs, linked = answer
    return Kept(works and theirs == rival.HELD, linked == rival.HELD)


def _locked(path: str) -> tuple[int | None, bool]:
    try:
        handle = rival.lock(path)
    except OSError as error:  # no locks at all, such as ENOLCK and ENOSYS
        logger.debug("%s cannot be locked: %s", path, error)
        return None, False
    return handle, handle is not None


def _linked(source: str, path: str) -> bool:
    """Whether there are hard links at all: where there are none, a lock does instead."""
    try:
        return rival.link(source, path)
    except OSError as error:
        logger.debug("%s has no hard links: %s", path, error)
        return False


def _ask(*arguments: str) -> tuple[str, str] | None:
    """What another process got: of the lock, and of the name. None where there can be none."""
    script = resources.files("singerlake.store").joinpath("rival.py").read_text()
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", script, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning(
            "no other process could be started to try the locks and links of %s, which are taken "
            "on trust: %s",
            Path(arguments[0]).parent,
            error,
        )
        return None
    theirs, linked = done.stdout.split()
    return theirs, linked


def _path(folder: Path) -> Path:
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:64]
    return folder / f"trial-{host}.json"


def _read(folder: Path, device: int) -> Kept | None:
    """None where nothing is kept, or it is of the file system that the folder was copied from."""
    try:
        told = json.loads(_path(folder).read_text())
        kept = Kept(bool(told["locks"]), bool(told["links"]))
        return kept if told["device"] == device else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(folder: Path, device: int, found: Kept) -> None:
    aside = folder / uuid.uuid4().hex
    aside.write_text(json.dumps({**asdict(found), "device": device}))
    aside.replace(_path(folder))
