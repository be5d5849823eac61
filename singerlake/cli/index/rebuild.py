"""`singerlake index rebuild`: makes an index again from its lake."""

from __future__ import annotations

import click

from singerlake.cli.console import complain, plural, print_json, say
from singerlake.cli.index.place import index_module, index_option, open_storage
from singerlake.cli.options import command, json_option
from singerlake.cli.progress import progress
from singerlake.cli.root import Root, root_arguments
from singerlake.lake.feed.event import Failed


@command()
@root_arguments()
@index_option
@json_option
def rebuild(root: Root, index_url: str | None, as_json: bool) -> None:
    """Make an index again from its lake.

    Reads the manifests of the lake at ROOT, and only those Singer files whose records may name
    files of any kind. A stream is answered for as it was until
    it has been indexed anew; safe beside `index follow`. A stream that cannot be read stays as it
    is in the index, and is reported: exits with 3 then.

    \b
    Examples:
      singerlake index rebuild ./lake
      singerlake index rebuild s3://bucket/lake --index sqlite:///index.db
    """
    lake = root.lake()
    storage = open_storage(lake, index_url, create=True)
    failures: list[Failed] = []
    try:
        with progress("indexing") as bar:
            entries = index_module("rebuild").rebuild_index(
                storage, lake, failures.append, lambda done, streams: bar(done, done)
            )
    finally:
        storage.close()
    for event in failures:
        complain(f"{event.tap} {event.stream}: {event.kind}: {event.error}")
    if as_json:
        print_json({"index": storage.url, "entries": entries, "failures": len(failures)})
    else:
        say(f"indexed {plural(entries, 'file')}")
    if failures:
        click.get_current_context().exit(3)
