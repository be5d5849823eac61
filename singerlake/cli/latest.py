"""`singerlake latest`: the newest file of a stream."""

from __future__ import annotations

from singerlake.cli.console import print_json, say
from singerlake.cli.get import newest
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.put import as_json_of
from singerlake.cli.root import Root, root_arguments


@command()
@root_arguments("tap", "stream")
@json_option
def latest(root: Root, tap: str, stream: str, as_json: bool) -> None:
    """Show the newest file of a stream.

    The newest is that with the latest start; of several, the one that was committed last.

    \b
    Examples:
      singerlake latest ./lake camera-1 photos
      singerlake latest ./lake camera-1 photos --json | jq -r .sha256
    """
    entry = newest(root.lake().stream(tap, stream))
    if as_json:
        print_json(as_json_of(entry))
        return
    say(shown(entry.id), "  ", shown(str(entry.record.get("start") or "")), "  ", shown(entry.name))
