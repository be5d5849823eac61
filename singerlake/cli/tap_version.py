"""Which version of a tap a command starts, as far as the files beside it say."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path


def tap_version(command: str) -> str:
    """The version of the Python package that has this command; empty where nothing says it.

    Looks into the environment that the command lies in, and starts nothing.
    """
    found = shutil.which(command)
    if found is None:
        return ""
    path = Path(found)
    for folder in {path.parent, path.resolve().parent}:
        packages = [str(one) for one in folder.parent.glob("lib/python*/site-packages")]
        for one in metadata.distributions(path=packages):
            if any(
                point.group == "console_scripts" and point.name == path.name
                for point in one.entry_points
            ):
                return str(one.version)
    return ""
