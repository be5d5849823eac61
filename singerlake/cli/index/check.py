"""`singerlake index check`: compares an index with its lake."""

from __future__ import annotations

import click
import msgspec

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.index.place import index_module, index_option, open_storage
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.root import Root, root_arguments


@command()
@root_arguments()
@index_option
@json_option
def check(root: Root, index_url: str | None, as_json: bool) -> None:
    """Compare an index with its lake.

    Every entry with what the manifests at ROOT have; reads no file. Streams that the index has not
    read to the end are behind, which is no problem: follow the lake. Exits with 1 where anything
    else is found; `index rebuild` mends it.

    \b
    Examples:
      singerlake index check ./lake
      singerlake index check s3://bucket/lake --index postgresql://host/index --json
    """
    lake = root.lake()
    storage = open_storage(lake, index_url)
    try:
        found = list(index_module("check").check_index(storage, lake))
    finally:
        storage.close()
    problems = [one for one in found if one.kind != "behind"]
    if as_json:
        print_json({"index": storage.url, "findings": [msgspec.to_builtins(one) for one in found]})
    else:
        for one in found:
            colour = "yellow" if one.kind == "behind" else "red"
            where = shown(" ".join(filter(None, (one.tap, one.stream))))
            say(f"[{colour}]{one.kind}[/]  ", where, ": ", shown(one.text))
        say(f"{plural(len(problems), 'problem')} found")
    if problems:
        click.get_current_context().exit(1)
