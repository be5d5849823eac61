"""`singerlake lineage show`: where a stream came from, and what was made of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from singerlake.cli.console import moment, number, print_json, print_table, say, table
from singerlake.cli.extra import extra_module
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.storage_options import options_of_output
from singerlake.store import open_store


@command()
@root_arguments("tap", "stream")
@click.option(
    "--tables",
    "outputs",
    multiple=True,
    metavar="URL",
    help="Look also for what `singerlake project` published there (repeatable).",
)
@json_option
def show(root: Root, tap: str, stream: str, outputs: tuple[str, ...], as_json: bool) -> None:
    """Show where a stream came from.

    And what was made of it: replays and published tables, and the commit up to which each of them
    goes. From the runs of the TAP, and from what jobs noted in the lake; they do so where lineage
    is on (`lineage: lake` is enough) and where they may write.

    \b
    Examples:
      singerlake lineage show ./lake tap-github--meltano issues
      singerlake lineage show ./lake tap-github--meltano issues --tables s3://bucket/tables --json
    """
    stores = [
        open_store(url, options_of_output(root.url, root.options, url, None)) for url in outputs
    ]
    graphs = extra_module("lineage.graph", "lineage", frozenset()).Graphs(root.lake(), stores)
    found = graphs.of(tap, stream)
    if as_json:
        print_json(asdict(found))
    else:
        _print(found)


def _print(graph: Any) -> None:
    say(shown(graph.stream, style="bold"), " of ", shown(graph.tap_id, style="bold"))
    rows = [("from", node) for node in graph.sources]
    rows += [("into", node) for node in graph.consumers]
    made = table("", "what", "name", "up to", "last seen (UTC)", "detail", fixed=("", "what"))
    for side, node in rows:
        up_to = f"{number(node.sequence)} of {number(graph.last_sequence)}" if node.sequence else ""
        made.add_row(
            side, node.kind, shown(node.name), up_to, moment(node.seen) or "", shown(node.detail)
        )
    print_table(made, drop=("detail", "last seen (UTC)"))
    if not graph.consumers:
        say("[dim]No job has noted that it read the stream.[/]")
