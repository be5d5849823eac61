"""Files of any kind in the lake: photos, audio, documents; put, found, read and forgotten.

from singerlake.files import put

put(lake, ["door.jpg"], what="photos", where="camera-1")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singerlake.files.entry import Entry, entries, find, latest
    from singerlake.files.forgetting import Forgotten, forget
    from singerlake.files.metadata import Metadata
    from singerlake.files.putting import put
    from singerlake.files.reading import fetch, open_file

__all__ = [
    "Entry",
    "Forgotten",
    "Metadata",
    "entries",
    "fetch",
    "find",
    "forget",
    "latest",
    "open_file",
    "put",
]

_HOMES = {
    "Entry": "entry",
    "Forgotten": "forgetting",
    "Metadata": "metadata",
    "entries": "entry",
    "fetch": "reading",
    "find": "entry",
    "forget": "forgetting",
    "latest": "entry",
    "open_file": "reading",
    "put": "putting",
}


def __getattr__(name: str) -> Any:
    """Loads a name's module when it is used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
