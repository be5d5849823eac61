"""`singerlake demo`: a first look, at a lake of a few orders."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import click
from rich.text import Text

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.diff import diff
from singerlake.cli.ls import ls
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.root import STORAGE_OPTIONS
from singerlake.cli.show import show
from singerlake.format import message
from singerlake.lake import Lake, open_lake

TAP = "tap-shop--sample"
STREAM = "orders"
STREAMS = ("customers", "orders", "products")


@command()
@click.argument("folder", default="demo-lake", type=click.Path(path_type=Path, file_okay=False))
@json_option
@click.pass_context
def demo(context: click.Context, folder: Path, as_json: bool) -> None:
    """Make a small lake and look around in it.

    The lake is in FOLDER, ./demo-lake by default. It lands the output of a tap of a shop: two
    streams, one of which changed its schema on the way. FOLDER must be new or empty.

    \b
    Examples:
      singerlake demo
      singerlake demo /tmp/lake && singerlake cat /tmp/lake tap-shop--sample orders
    """
    _require_empty(folder)
    landed = _land(open_lake(folder, create=True))
    if as_json:
        print_json({"root": str(folder), "tap_id": TAP, "files": landed})
        return
    say(f"[dim]# landed {plural(landed, 'file')}, as target-singerlake does[/]")
    place, reach = _place(folder), _reach()
    for one, words in (
        (ls, [place, *reach]),
        (show, [place, TAP, STREAM, *reach]),
        (diff, [place, TAP, STREAM, *reach]),
    ):
        say()
        say("[bold green]$[/] ", _typed(str(one.name), *words))
        one.main(words, prog_name=str(one.name), standalone_mode=False, parent=context)
    say()
    say("Look around:     ", _typed("cat", place, TAP, STREAM, *reach))
    say("Or in a browser: ", _typed("site", "serve", place, *reach, "--open"))


def _require_empty(folder: Path) -> None:
    try:
        empty = not folder.exists() or not any(folder.iterdir())
    except OSError as error:
        raise click.UsageError(f"{folder}: {error.strerror}") from None
    if not empty:
        raise click.UsageError(f"{folder} is not empty: name a new folder, or remove this one")


def _place(folder: Path) -> str:
    """With a slash: where $SINGERLAKE_ROOT is set, `ls` takes a bare name for a tap."""
    return f".{os.sep}{folder}" if folder.name == str(folder) else str(folder)


def _reach() -> list[str]:
    """Storage options of the environment are for another lake: a folder takes none."""
    return ["--storage-options", "{}"] if os.environ.get(STORAGE_OPTIONS) else []


def _typed(*words: str) -> Text:
    """A command as a person would type it, to be copied."""
    return shown(shlex.join(["singerlake", *words]))


def sample() -> Iterator[bytes]:
    """The lines that the tap wrote."""
    with files("singerlake.cli").joinpath("shop.singer").open("rb") as file:
        yield from file


def _land(lake: Lake) -> int:
    """Commit wherever the tap sent a STATE, as a target may do."""
    landed = 0
    with lake.writer(TAP) as writer:
        for line in sample():
            if message.decode(line).type == "STATE":
                landed += len(writer.commit())
            else:
                writer.write(line)
        landed += len(writer.commit())
    # The last STATE came after the last record, and has a bookmark of each stream.
    writer.end("complete", bookmarks=dict.fromkeys(STREAMS, True))
    return landed
