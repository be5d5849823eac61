"""`singerlake get`: a file out of the lake."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.progress import progress
from singerlake.cli.put import as_json_of
from singerlake.cli.root import Root, root_arguments
from singerlake.errors import ConfigError
from singerlake.files import Entry, fetch, find, latest
from singerlake.files.reading import copy
from singerlake.lake import Stream

STDOUT = "-"


@command()
@root_arguments("tap", "stream")
@click.option("--id", "unique", metavar="ID", help="The file's id; the newest by default.")
@click.option("--property", "name", metavar="NAME", help="Which, where a record names several.")
@click.option("--to", metavar="PATH", help="A file or a folder, or - for stdout; here by default.")
@json_option
def get(
    root: Root,
    tap: str,
    stream: str,
    unique: str | None,
    name: str | None,
    to: str | None,
    as_json: bool,
) -> None:
    """Get a file out of the lake.

    Its bytes are compared with their hash on the way; a local file appears whole or not at all, and
    replaces one of the same name. TAP is where the file is from, STREAM what it is.

    \b
    Examples:
      singerlake get ./lake camera-1 photos
      singerlake get ./lake camera-1 photos --id 5f0c2b7de1a94c63a0f6d2b1c8e47935 --to door.jpg
      singerlake get s3://bucket/lake shop dumps --to - | psql copy_of_shop
    """
    source = root.lake().stream(tap, stream)
    entry = newest(source) if unique is None else find(source, unique, name)
    if to == STDOUT and as_json:
        raise click.UsageError("--to - writes the file's bytes: leave --json out")
    if to == STDOUT:
        copy(source, entry.path, sys.stdout.buffer)
        return
    with progress("getting (bytes)") as bar:
        done = 0

        def taken(count: int) -> None:
            nonlocal done
            done += count
            bar(done, max(done, int(entry.record.get("size") or 0)))

        written = fetch(source, entry.path, _place(entry, to), taken)
    if as_json:
        print_json({**as_json_of(entry), "written": str(written)})
    else:
        say(shown(str(written)))


def newest(source: Stream) -> Entry:
    found = latest(source)
    if found is None:
        raise ConfigError(f"stream {source.name!r} of {source.tap_id!r} has no files")
    return found


def _place(entry: Entry, to: str | None) -> Path:
    """The name comes from whoever put the file: only its last part counts."""
    name = entry.name.replace("\\", "/").rpartition("/")[2].lstrip(".").replace("\0", "")
    folder = Path(to or ".")
    return folder / (name or entry.sha256) if to is None or folder.is_dir() else folder
