"""`singerlake lineage check`: examine what a proxy holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from singerlake.cli.console import plural, print_json, print_table, say, table
from singerlake.cli.lineage.options import data_option, lineage_module
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option


@command()
@data_option
@json_option
@click.pass_context
def check(context: click.Context, folder: Path, as_json: bool) -> None:
    """Examine what a proxy holds.

    Reads every event and compares its checksum, looks for numbers that are missing, and lists files
    that were set aside. Changes nothing; a running proxy is not disturbed. Exits with 1 where
    something is wrong.

    \b
    Examples:
      singerlake lineage check --data /var/lib/lineage
      singerlake lineage check --data /var/lib/lineage --json
    """
    report = lineage_module("buffer.check").check(folder)
    if as_json:
        print_json({"folder": str(folder), **asdict(report)})
    else:
        say(f"{plural(report.events, 'event')} in {plural(report.partitions, 'file')}")
        if report.findings:
            made = table("file", "problem")
            for one in report.findings:
                made.add_row(shown(one.file), shown(one.problem))
            print_table(made)
    context.exit(1 if report.findings else 0)
