"""The keys of consumers: one cursor for each name."""

from __future__ import annotations

from singerlake.format.names import ROOT, escape

FOLDER = "_consumers"
"""No tap has this folder: the first `_` of a name is escaped."""


def consumer(name: str) -> str:
    """The key of the cursor that a consumer keeps in the lake. Raises `BadName`."""
    return f"{ROOT}/{FOLDER}/{escape(name)}.json"
