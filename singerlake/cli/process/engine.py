"""The engine that a command is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from functools import wraps
from pathlib import Path
from typing import Any

import click

from singerlake.cli.exit_codes import POINTER
from singerlake.cli.options import json_option
from singerlake.errors import ConfigError
from singerlake.format import times
from singerlake.processor import Engine, open_engine
from singerlake.processor.engine.values import DeadLetter, Entry, KeyState
from singerlake.processor.event import decode_value

DEFAULT = "sqlite:///singerlake-process.db"

Command = Callable[..., Any]

engine_option = click.option(
    "--engine",
    "engine_url",
    envvar="SINGERLAKE_ENGINE",
    default=DEFAULT,
    show_default=True,
    metavar="URL",
    help="Where events wait: sqlite:///FILE, redis://HOST:PORT/DB, redis+cluster://HOST:PORT. "
    "Also from $SINGERLAKE_ENGINE.",
)


def engine_command(command: Command) -> click.Command:
    """A command on an engine that must be there, which also answers in JSON."""

    @wraps(command)
    def run(*args: Any, engine_url: str, **given: Any) -> Any:
        with existing(engine_url) as engine:
            return command(*args, engine=engine, **given)

    return click.command(epilog=POINTER)(engine_option(json_option(run)))


def existing(url: str) -> Engine:
    """Looking at an engine makes none."""
    path = url.partition("?")[0].removeprefix("sqlite:///")
    if url.startswith("sqlite:///") and not Path(path).is_file():
        raise ConfigError(
            f"{url}: there is no such engine; `singerlake process run` makes one, and --engine or "
            "$SINGERLAKE_ENGINE names it"
        )
    return open_engine(url)


key_argument = click.argument("key")


def moment(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return times.rfc3339(datetime.fromtimestamp(seconds, timezone.utc))


def state_as_json(state: KeyState) -> dict[str, Any]:
    body = asdict(state)
    return body | {
        "since": moment(state.since),
        "until": moment(state.until),
        "head": None if state.head is None else entry_as_json(state.head),
        "state": plain(state.state),
        "progress": plain(state.progress.partition(b"|")[2]),
    }


def entry_as_json(entry: Entry) -> dict[str, Any]:
    return {
        "position": entry.position,
        "added": moment(entry.added),
        "id": entry.id,
        "source": entry.source,
        "start": entry.start,
        "expires": moment(entry.expires or None),
        "value": plain(entry.value),
    }


def letter_as_json(letter: DeadLetter) -> dict[str, Any]:
    return {
        "key": letter.key,
        "reason": letter.reason,
        "deliveries": letter.deliveries,
        "at": moment(letter.at),
        **entry_as_json(letter.entry),
    }


def plain(data: bytes) -> Any:
    """A value for JSON; bytes as text, with escapes for what is none."""
    value = decode_value(data)
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
