"""`singerlake demo`: a first look, at a lake of a few orders."""

from __future__ import annotations

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
from singerlake.cli.show import show
from singerlake.format import message
from singerlake.lake import Lake, open_lake

TAP = "tap-shop--sample"
STREAM = "orders"


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
    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} is not empty: name a new folder, or remove this one")
    landed = _land(open_lake(folder, create=True))
    place = str(folder)
    if as_json:
        print_json({"root": place, "tap_id": TAP, "files": landed})
        return
    say(f"[dim]# landed {plural(landed, 'file')}, as target-singerlake does[/]")
    for one, words in (
        (ls, [place]),
        (show, [place, TAP, STREAM]),
        (diff, [place, TAP, STREAM]),
    ):
        say()
        say("[bold green]$[/] ", _typed(str(one.name), *words))
        one.main(words, prog_name=str(one.name), standalone_mode=False, parent=context)
    say()
    say("Look around:     ", _typed("cat", place, TAP, STREAM))
    say("Or in a browser: ", _typed("site", "serve", place, "--open"))


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
        return landed + len(writer.commit())
