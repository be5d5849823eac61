"""Checking pins: whether each can be read, and so can the state that it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from singerlake.errors import ConfigError, CorruptDocument, DamageError
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys
from singerlake.format.pin import Pin
from singerlake.lake import clock, pins, snapshot
from singerlake.lake.finding import Finding, Level
from singerlake.lake.snapshot import Snapshot
from singerlake.store import Store


def check_pins(store: Store, names: Iterable[str]) -> Iterator[Finding]:
    """What is wrong with the pins of these names. One that has expired need not be whole."""
    taken: dict[StreamKeys, Snapshot | ConfigError | None] = {}
    for name in sorted(names):
        key = key_names.pin(name)
        try:
            pin = pins.find(store, name)
        except CorruptDocument as error:
            yield Finding(Level.ERROR, "pin-corrupt", key, str(error))
            continue
        if pin is not None and not pin.has_expired(clock.now()):
            for problem in _problems(store, pin, taken):
                yield Finding(Level.ERROR, "pin-stale", key, problem)


def _problems(
    store: Store, pin: Pin, taken: dict[StreamKeys, Snapshot | ConfigError | None]
) -> Iterator[str]:
    for tap_id, stream, _ in pin.streams():
        keys = StreamKeys(tap_id, stream)
        if keys not in taken:
            taken[keys] = _taken(store, keys)
        found = taken[keys]
        if isinstance(found, ConfigError):
            yield f"pin {pin.name!r}: {found}"
        elif found is not None and (problem := pins.problem(pin, found)):
            yield problem


def _taken(store: Store, keys: StreamKeys) -> Snapshot | ConfigError | None:
    """The stream; None for one that is damaged, which has a finding of its own."""
    try:
        return snapshot.take(store, keys)
    except ConfigError as error:
        return error
    except DamageError:
        return None
