"""The words after a command: the lake's address, how to reach it, a tap and a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from singerlake.cli.complete import complete_stream, complete_tap, complete_word
from singerlake.cli.place import in_place
from singerlake.cli.storage_options import options_of
from singerlake.lake import Lake, open_on
from singerlake.lake.write_guard import require_writable
from singerlake.store import Store, open_store

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

STORAGE_OPTIONS = "SINGERLAKE_STORAGE_OPTIONS"
"""The variable of the environment that may hold them."""


@dataclass(frozen=True)
class Root:
    """Where a lake is; `options` are the storage options of fsspec."""

    url: str
    options: Mapping[str, Any]

    def store(self) -> Store:
        """The store, whether a lake is there or not. Raises `BadLocation`."""
        return open_store(self.url, self.options)

    def lake(self, *, write: bool = False) -> Lake:
        """The lake that must be there; who is to `write` is refused before any work.

        Raises `BadLocation`, `NotALake` and `ReadOnly`.
        """
        lake = open_on(self.store())
        if write:
            require_writable(lake.store)
        return lake


def root_arguments(
    *required: str, optional: tuple[str, ...] = (), former: str = "", several: bool = False
) -> Decorator:
    """`[ROOT] [TAP] [STREAM]`, as far as the command takes them, and `--tap` and `--stream`.

    `required` and `optional` hold `tap` and `stream`, in this order, or `name`, which has no option
    and is that of a pin. The command gets a `Root` as
    `root`, and the others by their names, however they were given: see `in_place`. With `several`,
    --stream is repeatable, and the command gets a tuple of streams. `former` names an option whose
    value may also be the one word after ROOT, as it was in older versions.
    """
    names = (*required, *optional)
    complete = complete_word(names)

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(
            *args: Any, storage_options: str | None, pairs: tuple[str, ...], **given: Any
        ) -> Any:
            words = [given.pop(f"{name}_word") for name in ("root", *names)]
            typed = [word for word in words if word is not None]
            by_option = {name for name in names if given.get(name) not in (None, ())}
            if former and given[former] is None:
                placed = in_place(typed, (former,), (former,))
                _require(required, by_option)
            else:
                placed = in_place(typed, names, required, by_option)
            root = Root(str(placed.pop("root")), options_of(storage_options, pairs))
            given |= {name: word for name, word in placed.items() if word is not None}
            if several and isinstance(given["stream"], str):
                given["stream"] = (given["stream"],)
            return command(*args, root=root, **given)

        decorated = reach_options(_by_option(names, required, several)(run))
        for name in reversed(("root", *names)):
            metavar = name.upper() if name in required else f"[{name.upper()}]"
            word = click.argument(
                f"{name}_word", required=False, metavar=metavar, shell_complete=complete
            )
            decorated = word(decorated)
        return decorated

    return decorate


def _require(required: tuple[str, ...], by_option: set[str]) -> None:
    for name in required:
        if name not in by_option:
            raise click.UsageError(f"Missing option --{name}, or argument {name.upper()}.")


def _by_option(names: tuple[str, ...], required: tuple[str, ...], several: bool) -> Decorator:
    """--tap and --stream, for those who prefer to name them."""
    alone = "tap" not in required and "stream" not in required
    tap = click.option(
        "--tap",
        metavar="TAP",
        shell_complete=complete_tap,
        help="Only this tap, as TAP." if alone else "The tap, as TAP.",
    )
    stream = click.option(
        "--stream",
        metavar="STREAM",
        multiple=several,
        shell_complete=complete_stream,
        help=_meaning_of_stream("stream" in required, several),
    )

    def decorate(command: Command) -> Command:
        for name, option in (("stream", stream), ("tap", tap)):
            command = option(command) if name in names else command
        return command

    return decorate


def _meaning_of_stream(required: bool, several: bool) -> str:
    if required:
        return "The stream, as STREAM."
    return (
        "Only this stream, as STREAM (repeatable)." if several else "Only this stream, as STREAM."
    )


def reach_options(command: Command) -> Command:
    """The options that say how to reach a store."""
    by_pair = click.option(
        "-o",
        "--option",
        "pairs",
        multiple=True,
        metavar="KEY=VALUE",
        help="One storage option. VALUE is text, but for true, false, null, and JSON in {} or []; "
        "numbers go into --storage-options. Example: -o anon=true",
    )
    by_json = click.option(
        "--storage-options",
        envvar=STORAGE_OPTIONS,
        metavar="JSON|@FILE",
        help="fsspec storage options: JSON, or @ and a file of it. "
        "Also from $SINGERLAKE_STORAGE_OPTIONS.",
    )
    return by_pair(by_json(command))
