"""The keys of consumers: one cursor for each name."""

from __future__ import annotations

from dataclasses import dataclass

from singerlake.format.names import ROOT, escape, unescape

FOLDER = "_consumers"
"""No tap has this folder: the first `_` of a name is escaped."""


def consumer(name: str) -> str:
    """The key of the cursor that a consumer keeps in the lake. Raises `BadName`."""
    return f"{ROOT}/{FOLDER}/{escape(name)}.json"


@dataclass(frozen=True)
class ConsumerObject:
    """The cursor of a consumer."""

    name: str


def parse(rest: list[str]) -> ConsumerObject | None:
    """What a path in the folder of the consumers is; None for what is not ours.

    Raises `BadName` for a name that `escape` does not make.
    """
    if len(rest) != 1 or not rest[0].endswith(".json"):
        return None
    return ConsumerObject(unescape(rest[0].removesuffix(".json")))
