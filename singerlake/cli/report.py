"""What `check` and `verify` answer."""

from __future__ import annotations

from dataclasses import asdict

from rich.text import Text

from singerlake.cli.console import plural, print_json, print_table, say, size, table
from singerlake.cli.name import shown
from singerlake.lake import CheckReport, Level

COLOURS = {Level.ERROR: "red", Level.LEFTOVER: "yellow", Level.NOTE: "dim"}


def print_report(report: CheckReport, clean: bool, as_json: bool) -> None:
    if as_json:
        findings = [asdict(finding) | {"level": finding.level.value} for finding in report.findings]
        print_json({**asdict(report), "findings": findings, "clean": clean})
    else:
        _print(report)


def _print(report: CheckReport) -> None:
    if report.findings:
        made = table("level", "what", "where and why", fixed=("level", "what"))
        for found in report.findings:
            level = Text(found.level.value, style=COLOURS[found.level])
            # A message that comes from an error names its place already.
            place = "" if found.key in found.message else f"{found.key}: "
            made.add_row(level, found.code, shown(place + found.message))
        print_table(made, drop=("level",))
    for line in report.fixed:
        say("[green]fixed[/]  ", shown(line))
    say(
        f"{plural(report.streams, 'stream')}, {plural(report.files, 'file')}, "
        f"{plural(report.records, 'record')}, {size(report.bytes)} checked: "
        f"{plural(len(report.of(Level.ERROR)), 'error')}, "
        f"{plural(len(report.of(Level.LEFTOVER)), 'leftover')}"
    )
