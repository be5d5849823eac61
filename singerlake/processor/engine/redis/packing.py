"""Arguments of scripts, packed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from singerlake.processor.engine.values import Outcome, Slot, Terms


@lru_cache(maxsize=1024)
def head_of(slot: Slot, terms: Terms, shards: int) -> tuple[bytes, ...]:
    """What is the same in every turn of a slot."""
    head = [
        slot.name,
        slot.client,
        as_ms(terms.lease),
        as_ms(terms.sticky),
        as_ms(terms.idle_timeout),
    ]
    head += [terms.batch, terms.max_deliveries, terms.on_dead]
    head += ["most" if terms.at_most_once else "least", -(-terms.limit // shards)]
    return tuple(as_bytes(str(one)) for one in head)


def outcome_of(outcome: Outcome | None, sticky: float) -> list[Any]:
    if outcome is None:
        return ["", "", "", 0, "", 0, "", "", "", "", 0]
    keeps = outcome.state is not None
    return [
        as_bytes(outcome.key),
        outcome.token,
        outcome.position if outcome.done else "",
        outcome.done,
        outcome.what,
        as_ms(outcome.delay),
        as_bytes(outcome.error[:1000]),
        "1" if keeps else "",
        outcome.state if keeps else "",
        "1" if outcome.singly else "",
        as_ms(sticky if outcome.sticky is None else outcome.sticky),
    ]


def as_ms(seconds: float) -> int:
    return round(seconds * 1000)


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def pieces(names: Iterator[bytes], size: int) -> Iterator[list[bytes]]:
    piece: list[bytes] = []
    for name in names:
        piece.append(name)
        if len(piece) == size:
            yield piece
            piece = []
    if piece:
        yield piece
