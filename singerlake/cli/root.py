"""The root: a lake's address on the command line, and how to reach it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from singerlake.cli.complete import complete_word
from singerlake.cli.place import in_place
from singerlake.cli.storage_options import options_of
from singerlake.lake import Lake, open_on
from singerlake.store import Store, open_store

Command = Callable[..., Any]

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

    def lake(self) -> Lake:
        """The lake that must be there. Raises `BadLocation` and `NotALake`."""
        return open_on(self.store())


def root_arguments(*names: str, optional_tap: bool = False) -> Callable[[Command], Command]:
    """`[ROOT]` and, after it, these arguments, with the options that say how to reach the store.

    The command gets a `Root` as `root`, and the others by their names; `optional_tap` adds one
    that it gets as `only`. ROOT may be left out where $SINGERLAKE_ROOT tells it: see `in_place`.
    """
    metavars = {name: name.upper() for name in names} | ({"only": "[TAP]"} if optional_tap else {})
    every = tuple(metavars)
    complete = complete_word(every)

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(
            *args: Any, storage_options: str | None, pairs: tuple[str, ...], **given: Any
        ) -> Any:
            words = [given.pop(name) for name in ("root", *every)]
            typed = [word for word in words if word is not None]
            url, *others = in_place(typed, every, last_is_optional=optional_tap)
            root = Root(str(url), options_of(storage_options, pairs))
            return command(*args, root=root, **dict(zip(every, others, strict=True)), **given)

        decorated = _storage_options(run)
        for name, metavar in reversed([("root", "[ROOT]"), *metavars.items()]):
            argument = click.argument(
                name, required=False, metavar=metavar, shell_complete=complete
            )
            decorated = argument(decorated)
        return decorated

    return decorate


def _storage_options(command: Command) -> Command:
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
