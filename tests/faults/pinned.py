"""Pins of a lake to which everything happens: each state that was pinned is read as it was, or an
error says why it cannot be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from singerlake.errors import DamageError, NotALake, SingerlakeError, UnknownStream, UnknownTap
from singerlake.format.keys import StreamKeys
from singerlake.lake import pins, snapshot
from singerlake.lake.extent import Extent, covered
from singerlake.store import Store
from tests.faults.truth import Violation


@dataclass(frozen=True)
class Pinned:
    """A pin, and the records that each stream had."""

    name: str
    held: dict[StreamKeys, list[int]]

    def require(self, store: Store) -> None:
        """Raises `Violation` where a reader gets something else, and no error."""
        for keys, held in self.held.items():
            try:
                found = _records(store, keys, Extent(as_of=f"pin:{self.name}"))
            except SingerlakeError:
                continue
            if found != held:
                raise Violation(f"PINNED {self.name}: {keys} has {found}, and had {held}")


def pin(store: Store, name: str, streams: Iterable[StreamKeys]) -> Pinned | None:
    """The lake as it is now; None where it is damaged, and cannot be pinned or read."""
    try:
        pins.create(store, name)
        return Pinned(name, {keys: _held(store, keys) for keys in streams})
    except DamageError:
        return None


def _held(store: Store, keys: StreamKeys) -> list[int]:
    try:
        return _records(store, keys, Extent())
    except (NotALake, UnknownStream, UnknownTap):
        return []


def _records(store: Store, keys: StreamKeys, extent: Extent) -> list[int]:
    taken = snapshot.take(store, keys)
    return [record["id"] for record in taken.records(covered(taken, extent).selection)]
