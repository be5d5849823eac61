"""`singerlake annotate`: what people know about a tap, kept where everybody finds it."""

from __future__ import annotations

import json
from typing import Any

import click

from singerlake.cli.console import print_json, print_table, say, table
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.root import Root, root_arguments
from singerlake.lake import unknown

TEXTS = ("owner", "description", "documentation", "job")


@command()
@root_arguments("tap")
@click.option("--owner", metavar="TEXT", help="Who answers for it: a person, a team.")
@click.option("--description", metavar="TEXT", help="What it is.")
@click.option("--documentation", metavar="URL", help="A link to more.")
@click.option("--job", metavar="URL", help="A link to what runs it.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Set a tag (repeatable).")
@click.option("--untag", multiple=True, metavar="KEY", help="Take a tag away (repeatable).")
@json_option
def annotate(
    root: Root,
    tap: str,
    tags: tuple[str, ...],
    untag: tuple[str, ...],
    as_json: bool,
    **texts: str | None,
) -> None:
    """Note who owns a TAP and what it is.

    Then shows all that is known of it. Changes what is asked for, and nothing else: other notes,
    tags and taps stay as they are. An empty text takes a note back. Without an option it only
    shows.

    \b
    Examples:
      singerlake annotate ./lake tap-github--meltano
      singerlake annotate ./lake tap-github--meltano --owner "the web team" --tag tier=1
      singerlake annotate ./lake tap-github--meltano --documentation https://wiki/github
      singerlake annotate ./lake tap-github--meltano --owner "" --untag tier
    """
    lake = root.lake()
    changes = {name: texts[name] for name in TEXTS if texts[name] is not None}
    changed_tags = {**dict(map(_pair, tags)), **dict.fromkeys(untag)}
    if changes or changed_tags:
        lake.annotate(tap, changes, changed_tags)
    notes = lake.annotations().get(tap)
    if notes is None:
        raise unknown.missing_tap(lake.store, tap)
    if as_json:
        print_json({"tap_id": tap, "annotations": notes})
    else:
        _print(tap, notes)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--tag {text}: expected KEY=VALUE")
    return key, value


def _print(tap: str, notes: dict[str, Any]) -> None:
    say(shown(tap, style="bold"))
    made = table("note", "text", fixed=("note",))
    made.show_header = False
    for name, value in notes.items():
        if value not in ("", {}, None):
            made.add_row(shown(name), shown(_text(value)))
    print_table(made)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={_text(item)}" for key, item in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
