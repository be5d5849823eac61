"""`singerlake put`: files of any kind into the lake."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from singerlake.cli.console import plural, print_json, say, size
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.place import VARIABLE
from singerlake.cli.progress import progress
from singerlake.cli.root import Root, reach_options
from singerlake.cli.storage_options import options_of
from singerlake.files import Entry
from singerlake.files import put as put_files
from singerlake.files.local import STDIN
from singerlake.lake import open_on


@command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--root", "url", envvar=VARIABLE, required=True, metavar="ROOT", help="The lake.")
@click.option("--what", required=True, metavar="STREAM", help="What they are, such as photos.")
@click.option("--where", required=True, metavar="TAP", help="Where they are from: camera-1.")
@click.option("--start", metavar="TIME", help="The time they are about; now by default.")
@click.option("--end", metavar="TIME", help="Its end; none by default.")
@click.option("--work-id", metavar="ID", help="The piece of work that made them.")
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="A field of your own.")
@click.option("--name", metavar="NAME", help="Another name, for a single file.")
@reach_options
@json_option
def put(
    files: tuple[str, ...],
    url: str,
    what: str,
    where: str,
    start: str | None,
    end: str | None,
    work_id: str | None,
    meta: tuple[str, ...],
    name: str | None,
    storage_options: str | None,
    pairs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Put files of any kind into the lake.

    FILE is a local path, an fsspec URL, or - for what comes in on stdin. The bytes are stored once
    for each stream, whatever the file's name; then one commit names all of them. A file that
    changes meanwhile is an error, and is not in the lake. A second put of the same bytes uploads
    nothing. ROOT is made where there is no lake yet; it is an option here, for FILE may be any
    number of paths and URLs.

    A time is like 2026-11-16T08:00Z, or seconds or milliseconds since 1970, or now.

    \b
    Examples:
      singerlake put door.jpg --root ./lake --what photos --where camera-1
      singerlake put *.wav --root s3://bucket/lake --what calls --where pbx --start 2026-11-16
      pg_dump shop | singerlake put - --root ./lake --what dumps --where shop --name shop.sql
    """
    if name is not None and len(files) > 1:
        raise click.UsageError("--name is for a single file")
    root = Root(url, options_of(storage_options, pairs))
    total = 2 * sum(_size(file) for file in files)
    done = 0
    with progress("putting (bytes)") as bar:

        def taken(count: int) -> None:
            nonlocal done
            done += count
            bar(done, max(done, total))

        made = put_files(
            open_on(root.store(), create=True),
            files,
            what=what,
            where=where,
            start=start,
            end=end,
            work_id=work_id,
            meta=_meta(meta),
            name=name,
            taken=taken,
        )
    _print(made, as_json)


def _size(file: str) -> int:
    """For the bar alone: what is not there is complained of when it is its turn."""
    path = Path(file)
    return 0 if file == STDIN or not path.is_file() else path.stat().st_size


def _meta(pairs: tuple[str, ...]) -> dict[str, str]:
    fields = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--meta")
        fields[key] = value
    return fields


def _print(made: list[Entry], as_json: bool) -> None:
    if as_json:
        print_json({"files": [as_json_of(entry) for entry in made]})
        return
    for entry in made:
        say(entry.id, "  ", size(entry.record["size"]), "  ", shown(entry.name))
    say(f"{plural(len(made), 'file')} put.")


def as_json_of(entry: Entry) -> dict[str, Any]:
    """A file as JSON: its record, and where its bytes are."""
    return {**asdict(entry), "record": dict(entry.record), "sha256": entry.sha256}
