"""`singerlake unpin`: forgets a state that has a name."""

from __future__ import annotations

from singerlake.cli.console import print_json, say
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.root import Root, root_arguments


@command()
@root_arguments("name")
@json_option
def unpin(root: Root, name: str, as_json: bool) -> None:
    """Forget a state that has a name.

    Nobody can read `as of NAME` then, and what it read may be deleted. This itself deletes no
    record. A damaged pin goes too.

    \b
    Examples:
      singerlake unpin ./lake before-migration
      singerlake pin ./lake nightly    # under a name that is free again
    """
    lake = root.lake(write=True)
    lake.unpin(name)
    if as_json:
        print_json({"root": lake.store.url, "unpinned": name})
    else:
        say("unpinned ", shown(name))
