"""Which dead letters a command is about."""

from __future__ import annotations

from singerlake.errors import ConfigError
from singerlake.processor import Engine


def chosen(engine: Engine, key: str, position: int | None) -> list[int]:
    """The positions of a key's dead letters, or the one that was asked for. Raises `ConfigError`
    where there is none."""
    found = sorted(letter.entry.position for letter in engine.dead() if letter.key == key)
    wanted = [one for one in found if position in (None, one)]
    if not wanted:
        raise ConfigError(
            f"key {key!r} has no such dead letter; `singerlake process dead ls` lists them"
        )
    return wanted
