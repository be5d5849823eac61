"""Expectations: what should be there by when, in a small file."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from singerlake.errors import ConfigError
from singerlake.wait.event import AnyEvent, require_names
from singerlake.wait.need import ALL, Need
from singerlake.wait.window import Span, Window, parse_offset


class Expectation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """These events, in each `window`, `by` so long after the window began on the wall clock.

    `notify` has addresses: `mailto:ops@example.com`, or that of a webhook.
    """

    name: str
    window: Window
    by: str
    events: tuple[AnyEvent, ...]
    need: Need = ALL
    notify: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_names(self.events)
        self.need.of(len(self.events))
        for one in self.events:
            if one.moves:
                raise ConfigError(
                    f"{self.name}: expected events with a window that stays, for a window that is "
                    f"over is looked at again, found {one.title!r}, whose window follows the clock"
                )
        if parse_offset(self.by) <= 0:
            raise ConfigError(
                f"{self.name}: expected `by` as a time after the window's beginning, such as 6h, "
                f"found {self.by!r}"
            )

    def deadline(self, span: Span) -> datetime:
        return self.window.later(span, parse_offset(self.by))

    def awaited(self) -> tuple[AnyEvent, ...]:
        """The events, in the expectation's window unless they have their own."""
        return tuple(
            event if event.window else msgspec.structs.replace(event, window=self.window)
            for event in self.events
        )


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    expectations: tuple[Expectation, ...]


def read(path: Path) -> tuple[Expectation, ...]:
    """The expectations in a JSON file. Raises `ConfigError`."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File).expectations
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise ConfigError(f'{path}: expected {{"expectations": […]}}: {error}') from None
    names = [one.name for one in found]
    if not names or len(set(names)) < len(names):
        raise ConfigError(f"{path}: expected at least one expectation, each with its own name")
    return found
