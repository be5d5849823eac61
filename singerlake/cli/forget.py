"""`singerlake forget`: files that are no longer to be in the lake."""

from __future__ import annotations

import click

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.name import shown
from singerlake.cli.options import apply_option, command, json_option
from singerlake.cli.put import as_json_of
from singerlake.cli.root import Root, root_arguments
from singerlake.files import forget as forget_files


@command()
@root_arguments("tap", "stream")
@click.option("--id", "ids", multiple=True, required=True, metavar="ID", help="Which (repeatable).")
@apply_option
@json_option
def forget(
    root: Root, tap: str, stream: str, ids: tuple[str, ...], apply: bool, as_json: bool
) -> None:
    """Forget files, and remove their bytes.

    Only reports what it would do, unless --apply is given. A tombstone is committed for each
    record; the record's own line stays, for a lake is never rewritten. Bytes that another record
    names stay too. What a pin reads is refused (exit code 4): wait until the pin is over, or unpin
    it.

    \b
    Examples:
      singerlake forget ./lake camera-1 photos --id 5f0c2b7de1a94c63a0f6d2b1c8e47935
      singerlake forget ./lake camera-1 photos --id 5f0c2b7de1a94c63a0f6d2b1c8e47935 --apply
    """
    told = forget_files(root.lake(write=apply), tap, stream, ids, apply=apply)
    if as_json:
        rows = [{**as_json_of(one.entry), "shared": one.shared} for one in told]
        print_json({"applied": apply, "files": rows})
        return
    for one in told:
        bytes_of = "its bytes stay: another record names them" if one.shared else "its bytes go"
        say(shown(one.entry.id), "  ", shown(one.entry.name), f"  ({bytes_of})")
    files = plural(len(told), "file")
    say(f"{files} forgotten." if apply else f"{files} to forget: `forget --apply` does it.")
