"""The keys of pins: one document for each name."""

from __future__ import annotations

from dataclasses import dataclass

from singerlake.format.names import ROOT, escape, unescape

FOLDER = "_pins"
"""No tap has this folder: the first `_` of a name is escaped."""

PINS = f"{ROOT}/{FOLDER}"


def pin(name: str) -> str:
    """The key of a pin's document. Raises `BadName`."""
    return f"{PINS}/{escape(name)}.json"


@dataclass(frozen=True)
class PinObject:
    """The document of a pin."""

    name: str


def parse(rest: list[str]) -> PinObject | None:
    """What a path in the folder of the pins is, by its segments; None for what is not ours.

    Raises `BadName` for a name that `escape` does not make.
    """
    if len(rest) != 1 or not rest[0].endswith(".json"):
        return None
    return PinObject(unescape(rest[0].removesuffix(".json")))
