"""Completing roots, and the names in the lake that was typed before them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from singerlake.cli.place import VARIABLE
from singerlake.cli.storage_options import options_of

if TYPE_CHECKING:
    from singerlake.lake import Lake

PATIENCE = 3.0
"""Seconds that whoever pressed TAB waits for a store."""

Items = list[CompletionItem[str]]
Completer = Callable[[click.Context, click.Parameter, str], Items]
Lookup = Callable[[], Iterable[str]]


def complete_tap(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """The value of --tap: the lake's taps that begin so; none where the lake cannot be read."""
    roots = [*_words(context)[:1], *_known_root()]
    return _items([_lookup(context, root, "tap") for root in roots], incomplete)


def complete_stream(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """The value of --stream: streams of the tap that was typed, or of all."""
    words, tap = _words(context), context.params.get("tap")
    # The root may have been left out: then the first word is the tap.
    places = [(words[0], words[1:2])] if words else []
    places += [(root, words[:1]) for root in _known_root()]
    lookups = [
        _lookup(context, root, "stream", tap or next(iter(taps), None)) for root, taps in places
    ]
    return _items(lookups, incomplete)


def complete_word(names: tuple[str, ...]) -> Completer:
    """For the root, and for the arguments of these names that follow it."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
        words = ("root", *names)
        position = words.index(str(parameter.name).removesuffix("_word"))
        typed = [str(context.params.get(f"{name}_word")) for name in words[:position]]
        lookups = []
        if position < len(names):  # the root may have been left out
            lookups += [_lookup(context, root, names[position], *typed) for root in _known_root()]
        if typed:
            lookups.append(_lookup(context, typed[0], names[position - 1], *typed[1:]))
        # Shells look for folders where there is no name that begins so.
        folders = [CompletionItem(incomplete, type="dir")] if position == 0 else []
        return folders + _items(lookups, incomplete)

    return complete


def _words(context: click.Context) -> list[str]:
    """The words that were typed: before the value of an option, click has not sorted them yet."""
    sorted_words = [context.params.get(f"{name}_word") for name in ("root", "tap")]
    return [str(word) for word in (*sorted_words, *context.args) if word]


def _known_root() -> list[str]:
    root = os.environ.get(VARIABLE)
    return [root] if root else []


def _lookup(context: click.Context, root: str, what: str, tap: str | None = None) -> Lookup:
    """The names of taps, of pins, or of streams: of a tap, or of all."""

    def names() -> Iterable[str]:
        lake = _lake(context, root)
        if what == "name":
            from singerlake.lake import pins

            return pins.names(lake.store)
        if what != "stream":
            return [one.tap_id for one in lake.taps()]
        taps = [lake.tap(tap)] if tap else lake.taps()
        return {name for one in taps for name in one.catalogue()}

    return names


def _lake(context: click.Context, root: str) -> Lake:
    from singerlake.lake import open_on  # only if a name is asked for
    from singerlake.store import Retrying, open_store

    given = context.params
    store = open_store(root, options_of(given.get("storage_options"), given.get("pairs") or ()))
    return open_on(store.inner if isinstance(store, Retrying) else store)


def _items(lookups: list[Lookup], incomplete: str) -> Items:
    """Names from the first lookup that has any.

    Hostile names are left out: shells take completions line by line, and obey escapes.
    """
    found: list[str] = []

    def look() -> None:
        for lookup in lookups:
            # Whatever goes wrong: a traceback would be drawn into the line that is being typed.
            with suppress(Exception):
                names = [name for name in lookup() if name.startswith(incomplete)]
                found.extend(sorted(name for name in names if name.isprintable() and name))
            if found:
                return

    logging.disable()
    try:
        # A thread, because a store that does not answer cannot be told to stop.
        thread = Thread(target=look, daemon=True)
        thread.start()
        thread.join(PATIENCE)
    finally:
        logging.disable(logging.NOTSET)
    return [CompletionItem(name) for name in list(found)]
