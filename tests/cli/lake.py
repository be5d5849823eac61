"""The lake that the tests of the commands look at, and how they are run.

Two taps, one with a name that attacks; streams with names that attack; a stream of three schema
versions; a damaged file. Commits are a day apart, so that what is shown is always the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from singerlake import open_lake
from singerlake.cli import main
from singerlake.format.keys import StreamKeys
from singerlake.lake import clock

TAP = "tap-shop--test"
EVIL_TAP = "tap-[bold red]evil[/]--\x1b]0;owned\x07"
EVIL = "na\x1b[31mme\n[link=x]\u202e\ud800 :boom:"
"""Escapes for a terminal, a line feed, rich's markup, a turned direction, a lone surrogate."""

MONDAY = datetime(2026, 11, 2, 8, tzinfo=timezone.utc)

VERSIONS: tuple[dict[str, Any], ...] = (
    {"id": {"type": "integer"}, "note": {"type": "string"}, "price": {"type": "number"}},
    {"id": {"type": "integer"}, "price": {"type": ["null", "number"]}},
    {
        "id": {"type": "integer"},
        "price": {"type": ["null", "number"]},
        "lines": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        EVIL: {"type": "string"},
    },
)
"""The schemas of `orders`."""


def run(*arguments: str | Path, **environment: str | None) -> Result:
    """Run the command as a shell would; variables of the machine that runs tests are unset."""
    env = {"SINGERLAKE_ROOT": None, "COLUMNS": None, "NO_COLOR": None, **environment}
    return CliRunner(env=env).invoke(main, [str(argument) for argument in arguments])


def said(*arguments: str | Path, code: int = 0, **environment: str | None) -> str:
    """What a command prints to stdout; it must exit with `code`."""
    result = run(*arguments, **environment)
    assert result.exit_code == code, result.output
    return result.stdout


def told(*arguments: str | Path, code: int = 0) -> Any:
    """What a command answers in JSON."""
    return json.loads(said(*arguments, "--json", code=code))


def lines(*arguments: str | Path, code: int = 0) -> list[Any]:
    """What a command answers in JSON, line by line."""
    return [json.loads(line) for line in said(*arguments, "--json", code=code).splitlines()]


def land(
    root: Path,
    tap: str,
    stream: str,
    numbers: Iterable[int],
    properties: dict[str, Any] = VERSIONS[0],
) -> None:
    """One commit, whose records are a second apart."""
    with open_lake(root, create=True).writer(tap, run_id="run-1") as writer:
        schema = {"type": "object", "properties": properties}
        message = {"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": ["id"]}
        writer.write(json.dumps(message).encode())
        for number in numbers:
            time = (MONDAY + timedelta(seconds=number)).isoformat()
            writer.write(
                b'{"type": "RECORD", "stream": %s, "record": {"id": %d, "price": 1.10}, '
                b'"time_extracted": "%s"}' % (json.dumps(stream).encode(), number, time.encode())
            )


def folder(root: Path, stream: str, tap: str = TAP) -> Path:
    return root / StreamKeys(tap, stream).folder


def manifest(root: Path, stream: str = "orders") -> Path:
    return folder(root, stream) / "manifest.json"


def contents(root: Path) -> dict[str, bytes]:
    """Every file of the lake, but for the store's own."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".singerlake-tmp" not in path.parts
    }


def build(root: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        day = 0

        def on_day(number: int) -> None:
            nonlocal day
            day = number
            patch.setattr(clock, "now", lambda: MONDAY + timedelta(days=day))

        for number, properties in enumerate(VERSIONS):
            on_day(number)
            land(root, TAP, "orders", range(10 * number, 10 * number + number + 1), properties)
        on_day(3)
        land(root, TAP, "damaged", [1])
        on_day(4)
        land(root, TAP, "damaged", [2, 3])
        land(root, TAP, "empty", [])
        on_day(5)
        land(root, EVIL_TAP, EVIL, [1])
        land(root, EVIL_TAP, "orders", [1, 2])
        open_lake(root).annotate(
            TAP, {"owner": "the [red]shop[/] team", "description": "Orders\x1b[2J of the shop"}
        )
    *_, broken = sorted(folder(root, "damaged").rglob("*.singer.gz"))
    broken.write_bytes(broken.read_bytes()[:-20])
