"""`singerlake diff`: two schema versions of a stream, as a person would read it."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.text import Text

from singerlake.cli.console import print_json, print_table, say, table
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option, schema_hash_of
from singerlake.cli.root import Root, root_arguments
from singerlake.errors import ConfigError, MissingFile
from singerlake.format.difference import ITEMS, Difference, differences
from singerlake.lake import Snapshot
from singerlake.lake.schemas import schemas

STYLES = {"added": "green", "removed": "red", "changed": "yellow"}
SIGNS = {"added": "+", "removed": "-", "changed": "~"}


@command()
@root_arguments("tap", "stream")
@click.option(
    "--from",
    "before",
    metavar="VERSION",
    help="The older version. Default: the version before --to.",
)
@click.option(
    "--to",
    "after",
    default="latest",
    show_default=True,
    metavar="VERSION",
    help="The newer version.",
)
@json_option
def diff(root: Root, tap: str, stream: str, before: str | None, after: str, as_json: bool) -> None:
    """Compare two schema versions.

    What was added to, removed from and changed in one STREAM of one TAP. A VERSION is v2, a schema
    hash, or latest, which is that of the newest file: `show` lists them. Exits with 0 whether
    something changed or not. A stream with one version has nothing to compare, which is no error.

    \b
    Examples:
      singerlake diff ./lake tap-github--meltano issues
      singerlake diff ./lake tap-github--meltano issues --from v1 --to v3
      singerlake diff ./lake tap-github--meltano issues --json | jq '.differences[].path'
    """
    snapshot = root.lake().stream(tap, stream).snapshot()
    new = schema_hash_of(snapshot, after)
    old = schema_hash_of(snapshot, before) if before else _before(snapshot, new)
    if old is None:
        _print_only(snapshot, new, as_json)
        return
    found = _differences(snapshot, old, new)
    if as_json:
        sides = {"from": _side(snapshot, old), "to": _side(snapshot, new)}
        print_json({**sides, "differences": [asdict(one) for one in found]})
    else:
        _print(snapshot, old, new, found)


def _before(snapshot: Snapshot, schema_hash: str) -> str | None:
    """The version before this one; None where the stream has no other version."""
    number = snapshot.versions[schema_hash].version
    older = {v.version: key for key, v in snapshot.versions.items() if v.version < number}
    if older:
        return older[max(older)]
    if len(snapshot.versions) == 1:
        return None
    keys = snapshot.keys
    raise ConfigError(
        f"stream {keys.stream!r} of {keys.tap_id!r}: v{number} is its first schema "
        "version, there is nothing before it to compare it with; name another with --from"
    )


def _print_only(snapshot: Snapshot, schema_hash: str, as_json: bool) -> None:
    """For a stream with one version."""
    if as_json:
        print_json({"from": None, "to": _side(snapshot, schema_hash), "differences": []})
        return
    version = snapshot.versions[schema_hash].version
    say(
        shown(snapshot.keys.stream, style="bold"),
        f" has one schema version, v{version} ({schema_hash}): nothing to compare.",
    )


def _differences(snapshot: Snapshot, old: str, new: str) -> tuple[Difference, ...]:
    found = schemas(snapshot, {old, new})
    for schema_hash in (old, new):
        if schema_hash not in found:
            raise MissingFile(
                f"{snapshot.store.url}/{snapshot.keys.folder}: no file tells the schema "
                f"{schema_hash} any more; `singerlake check` shows what is damaged"
            )
    return differences(found[old], found[new])


def _side(snapshot: Snapshot, schema_hash: str) -> dict[str, object]:
    version = snapshot.versions[schema_hash]
    return {
        "version": version.version,
        "schema_hash": schema_hash,
        "first_seen": version.first_seen,
    }


def _print(snapshot: Snapshot, old: str, new: str, found: tuple[Difference, ...]) -> None:
    say(
        shown(snapshot.keys.stream, style="bold"),
        f": v{snapshot.versions[old].version} ({old}) → v{snapshot.versions[new].version} ({new})",
    )
    if not found:
        say("No differences but the order of names.")
        return
    made = table("", "property", "before", "after")
    for one in found:
        style = STYLES[one.change]
        made.add_row(
            Text(SIGNS[one.change], style=style),
            _path(one.path, style),
            shown(one.before or ""),
            shown(one.after or ""),
        )
    print_table(made)
    counts = {change: sum(one.change == change for one in found) for change in STYLES}
    say(", ".join(f"{count} {change}" for change, count in counts.items() if count))


def _path(path: tuple[str, ...], style: str) -> Text:
    """`lines[].price`; the stream itself has no path."""
    if not path:
        return Text("(the stream)", style=f"{style} italic")
    steps = (step if step == ITEMS else f".{step}" for step in path)
    return shown("".join(steps).removeprefix("."), style=style)
