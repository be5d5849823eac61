"""The group of the commands about an index."""

from __future__ import annotations

import click

from singerlake.cli.commands import LazyGroup
from singerlake.cli.exit_codes import POINTER

COMMANDS = {
    "check": "Compare an index with its lake.",
    "export": "Print all that an index has.",
    "follow": "Keep an index up to date.",
    "ingest": "Follow a lake by its notifications.",
    "rebuild": "Make an index again from its lake.",
    "serve": "Answer questions over HTTP.",
}
"""The first line of each command's help."""


@click.group(cls=LazyGroup, table=COMMANDS, package="singerlake.cli.index", epilog=POINTER)
def index() -> None:
    """Find files by tap, stream, time and run.

    An index has a row for each file of each commit of a lake. It is disposable: `index rebuild`
    makes it again. --index names it: sqlite:///FILE, postgresql://HOST/DATABASE or
    dynamodb://TABLE; by default it is a SQLite file in your cache.

    \b
    Examples:
      singerlake index rebuild ./lake
      singerlake index follow s3://bucket/lake --index postgresql://host/index
      singerlake index check ./lake
    """
