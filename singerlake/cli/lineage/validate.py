"""`singerlake lineage validate`: hold events against the spec."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.lineage.options import lineage_module
from singerlake.cli.lineage.proxy_options import facets_option, spec_option
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option


@command()
@click.argument("file", type=click.File("rb"))
@facets_option
@spec_option
@json_option
@click.pass_context
def validate(
    context: click.Context,
    file: BinaryIO,
    facets: tuple[str, ...],
    spec_dir: Path | None,
    as_json: bool,
) -> None:
    """Hold events against the spec.

    FILE is one event, an array of events, or an event on each line; - is stdin. Exits with 1 where
    an event is not valid. The verdict is that of `lineage proxy`.

    \b
    Examples:
      singerlake lineage validate event.json
      singerlake lineage validate events.jsonl --json
      singerlake lineage validate event.json --spec-dir ./OpenLineage/spec
    """
    groups = () if facets == ("none",) else facets
    validator = lineage_module("schema.open").open_validator(spec_dir, groups)
    verdicts = [validator.parse(event)[1] for event in _events(file.read())]
    failed = sum(map(bool, verdicts))
    if as_json:
        rows = [
            {"event": index, "valid": not found, "problems": [one._asdict() for one in found]}
            for index, found in enumerate(verdicts)
        ]
        print_json({"events": len(verdicts), "invalid": failed, "verdicts": rows})
    else:
        for index, found in enumerate(verdicts):
            for problem in found:
                say(f"event {index}: ", shown(problem))
        say(f"{plural(len(verdicts), 'event')}, {failed} of them not valid")
    context.exit(1 if failed else 0)


def _events(text: bytes) -> Iterator[bytes]:
    try:
        events = msgspec.json.decode(text, type=list[msgspec.Raw])
        yield from map(bytes, events)
        return
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass  # not an array: one event, or an event on each line
    try:
        msgspec.json.decode(text)
        yield text
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        lines = [line for line in text.splitlines() if line.strip()]
        yield from lines if len(lines) > 1 else [text]
