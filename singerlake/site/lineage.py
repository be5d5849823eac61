"""Where a stream came from and what was made of it, as its page draws it.

Who builds the pages hands this over: the site knows nothing of lineage but how to draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

HEIGHT = 44
"""Of a box, in pixels."""

GAP = 14

MOST = 8
"""Boxes on each side; the table below has them all."""

LONGEST = 30
"""Characters of a name in a box; the table below has all of them."""


@dataclass(frozen=True)
class Neighbour:
    """A tap or a job above a stream, a replay or a table below it.

    `sequence` is the commit up to which it goes; 0 where that means nothing.
    """

    kind: str
    name: str
    detail: str = ""
    sequence: int = 0
    seen: datetime | None = None


@dataclass(frozen=True)
class LineageFacts:
    """Of one stream."""

    sources: tuple[Neighbour, ...] = ()
    consumers: tuple[Neighbour, ...] = ()


NOTHING_KNOWN = LineageFacts()

LineageOf = Callable[[str, str], LineageFacts]
"""By tap and stream. It raises what the lake raises where that cannot be read."""


@dataclass(frozen=True)
class Box:
    """Its place from the top, in pixels; across, the template has three columns."""

    kind: str
    label: str
    top: float

    @property
    def middle(self) -> float:
        return self.top + HEIGHT / 2


@dataclass(frozen=True)
class Drawing:
    """Boxes on the left and on the right, and the stream between them."""

    sources: tuple[Box, ...]
    consumers: tuple[Box, ...]
    stream: Box
    height: float
    reading: str


def drawing(stream: str, facts: LineageFacts) -> Drawing | None:
    """None where nothing is known."""
    sources, consumers = facts.sources[:MOST], facts.consumers[:MOST]
    if not sources and not consumers:
        return None
    rows = max(len(sources), len(consumers), 1)
    height = rows * (HEIGHT + GAP) + GAP
    return Drawing(
        _boxes(sources, height),
        _boxes(consumers, height),
        Box("stream", _short(stream), (height - HEIGHT) / 2),
        height,
        _reading(stream, sources, consumers),
    )


def _boxes(nodes: Sequence[Neighbour], height: float) -> tuple[Box, ...]:
    used = len(nodes) * (HEIGHT + GAP) - GAP
    top = (height - used) / 2
    return tuple(
        Box(node.kind, _short(node.name), top + number * (HEIGHT + GAP))
        for number, node in enumerate(nodes)
    )


def _short(name: str) -> str:
    """The end of a long name says more than its beginning."""
    return name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}"


def _reading(stream: str, sources: Sequence[Neighbour], consumers: Sequence[Neighbour]) -> str:
    """The graph in words."""
    came = ", ".join(node.name for node in sources) or "nobody knows where"
    made = ", ".join(f"{node.kind} {node.name}" for node in consumers) or "nothing that is known"
    return f"{stream} comes from {came}; made of it: {made}"
