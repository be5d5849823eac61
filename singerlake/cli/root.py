"""The root: a lake's address on the command line, and how to reach it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from singerlake.cli.complete import complete_stream, complete_tap
from singerlake.lake import Lake, open_on
from singerlake.store import Store, open_store

VARIABLE = "SINGERLAKE_ROOT"

COMPLETIONS = {"tap": complete_tap, "stream": complete_stream}

Command = Callable[..., Any]


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


def root_arguments(*names: str) -> Callable[[Command], Command]:
    """`[ROOT]` and, after it, these arguments, with the options that say how to reach the store.

    The command gets a `Root` as `root`, and the others by their names. ROOT may be left out
    where $SINGERLAKE_ROOT tells it.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(
            *args: Any, storage_options: str | None, pairs: tuple[str, ...], **given: Any
        ) -> Any:
            words = [given.pop(name) for name in ("root", *names)]
            url, *others = _in_place([word for word in words if word is not None], names)
            root = Root(url, options_of(storage_options, pairs))
            return command(*args, root=root, **dict(zip(names, others, strict=True)), **given)

        decorated = _storage_options(run)
        for name in reversed(names):
            complete = COMPLETIONS.get(name)
            argument = click.argument(
                name, required=False, metavar=name.upper(), shell_complete=complete
            )
            decorated = argument(decorated)
        return click.argument("root", required=False, metavar="[ROOT]")(decorated)

    return decorate


def _in_place(words: list[str], names: tuple[str, ...]) -> list[str]:
    """The root and the other words, whether the root was typed or not."""
    root = os.environ.get(VARIABLE)
    if len(words) == len(names) and root:
        return [root, *words]
    if len(words) > len(names):
        return words
    if root:
        raise click.UsageError(f"Missing argument {names[len(words)].upper()}.")
    missing = ("root", *names)[len(words)].upper()
    raise click.UsageError(
        f"Missing argument {missing}. ROOT is the lake's folder or URL; ${VARIABLE} can hold it."
    )


def _storage_options(command: Command) -> Command:
    by_pair = click.option(
        "-o",
        "--option",
        "pairs",
        multiple=True,
        metavar="KEY=VALUE",
        help="One storage option; VALUE may be JSON. Example: -o anon=true",
    )
    by_json = click.option(
        "--storage-options",
        envvar="SINGERLAKE_STORAGE_OPTIONS",
        metavar="JSON|@FILE",
        help="fsspec storage options: JSON, or @ and a file of it. "
        "Also from $SINGERLAKE_STORAGE_OPTIONS.",
    )
    return by_pair(by_json(command))


def options_of(storage_options: str | None, pairs: tuple[str, ...] = ()) -> dict[str, Any]:
    """fsspec's storage options, from the JSON or its file, and the pairs that were given."""
    options = _decoded(storage_options) if storage_options else {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"-o {key}: expected KEY=VALUE")
        options[key] = _value(value)
    return options


def _decoded(text: str) -> dict[str, Any]:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).expanduser().read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"--storage-options {text}: {error}") from None
    try:
        options = json.loads(text)
    except ValueError as error:
        # The text may hold a secret, so it is not repeated.
        raise click.UsageError(f"--storage-options is not JSON: {error}") from None
    if not isinstance(options, dict):
        raise click.UsageError("--storage-options is not a JSON object")
    return options


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
