"""`singerlake index export`: prints all that an index has."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.index.place import index_module, index_option, open_storage
from singerlake.cli.options import command, json_option
from singerlake.cli.root import Root, root_arguments


@command()
@root_arguments()
@index_option
@click.option(
    "--parquet",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the entries as a Parquet file instead.",
)
@json_option
def export(root: Root, index_url: str | None, parquet: Path | None, as_json: bool) -> None:
    """Print all that an index has.

    One JSON object on a line, with --json or without: the entries and gaps of each stream in the
    order of its log, the runs that ended, and uploads. Two indexes that have read the same print
    the same bytes.

    \b
    Examples:
      singerlake index export ./lake | sha256sum
      singerlake index export ./lake --parquet entries.parquet
    """
    storage = open_storage(root.lake(), index_url)
    try:
        if parquet is not None:
            count = index_module("parquet").write_parquet(storage, parquet)
            if as_json:
                print_json({"path": str(parquet), "entries": count})
            else:
                say(f"wrote {count:,} {'entry' if count == 1 else 'entries'} to {parquet}")
            return
        for line in index_module("export").export_lines(storage):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    finally:
        storage.close()
