"""`python -m tests.faults.report [--write]`: what the suites counted, as a table.

`--write` keeps it in docs/reliability.md, and takes only a whole run: lines that are all of one,
and none missing of what is expected.
"""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tests.faults.result import Line, kept

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- results of make faults -->", "<!-- end of make faults -->"
HEADER = "| what | runs | faults | replayed | violations | bounds | seconds |"


@dataclass(frozen=True)
class Expected:
    """The fewest lines and controls that a whole run of a suite has."""

    lines: int
    controls: int


SUITES = {
    "A lake by an enemy": Expected(31, 6),
    "Crash points": Expected(20, 10),
    "Feed": Expected(5, 8),
    "Files": Expected(13, 6),
    "Flipped bits": Expected(24, 4),
    "Hangs": Expected(4, 2),
    "Histories": Expected(7, 13),
    "Hostile input": Expected(26, 1),
    "Index": Expected(9, 5),
    "Interleavings": Expected(32, 13),
    "Kills": Expected(7, 1),
    "Lineage proxy": Expected(2, 2),
    "Load": Expected(2, 1),
    "Outages": Expected(19, 2),
    "Power cuts": Expected(4, 10),
    "Processor": Expected(34, 28),
    "Projecting": Expected(5, 3),
    "Rows by an enemy": Expected(8, 3),
    "Secrets": Expected(4, 6),
    "Target processes": Expected(6, 2),
}


def table(lines: Sequence[Line]) -> str:
    """A section for each suite, with the command that repeats it, and what it all adds up to."""
    lines = [*lines]
    parts = [_summary(lines)]
    for suite, group in groupby(lines, key=lambda line: line.suite):
        parts.append(_section(suite, list(group)))
    return "\n\n".join(parts)


def _section(suite: str, lines: list[Line]) -> str:
    modules = sorted({line.test.split()[0] for line in lines})
    rows = [HEADER, "| --- | --: | --: | --: | --: | --- | --: |"]
    rows += [_row(line) for line in lines if not line.tried]
    seen, tried = sum(line.controls for line in lines), sum(line.tried for line in lines)
    controls = f"\n\nControls: {seen} of {tried} broken variants were seen." if tried else ""
    command = f"`SINGERLAKE_FAULTS=whole pytest {' '.join(modules)}`"
    return f"### {suite}\n\n{command}; `-k` with words of a line runs it alone.\n\n" + (
        "\n".join(rows) + controls
    )


def _row(line: Line) -> str:
    cells = [
        line.what,
        f"{line.runs:,}",
        f"{line.faults:,}",
        f"{line.replays:,}",
        f"{line.violations:,}",
        line.bounds,
        f"{line.seconds:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def _summary(lines: Iterable[Line]) -> str:
    real = [line for line in lines if not line.tried]
    runs, faults = sum(line.runs for line in real), sum(line.faults for line in real)
    violations = sum(line.violations for line in real)
    replays = sum(line.replays for line in real)
    controls, tried = sum(line.controls for line in lines), sum(line.tried for line in lines)
    runs_named = " and ".join(sorted({line.run for line in lines if line.run}))
    of = f", run {runs_named}" if runs_named else ""
    return (
        f"{datetime.date.today():%Y-%m-%d}{of}, {platform.system()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}: **{runs:,} runs, {faults:,} faults, {violations} "
        f"violations**; {replays:,} records there twice because their STATE had not come out; "
        f"{controls} of {tried} controls seen."
    )


def updated(page: str, block: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{block}\n{END}{rest.partition(END)[2]}"


def missing(lines: Sequence[Line]) -> Iterator[str]:
    """Why these lines are not those of one whole run."""
    runs = {line.run for line in lines}
    if len(runs) != 1 or "" in runs:
        yield f"they are of several runs, or of none that has a name: {sorted(runs)}"
    for suite, least in SUITES.items():
        of_it = [line for line in lines if line.suite == suite]
        rows = sum(not line.tried for line in of_it)
        controls = sum(line.controls for line in of_it)
        if rows < least.lines or controls < least.controls:
            yield f"{suite}: {rows} lines and {controls} controls seen; expected {least}"
    if unknown := {line.suite for line in lines} - SUITES.keys():
        yield f"nothing is said here of {sorted(unknown)}"
    if missed := [line.what for line in lines if line.controls < line.tried]:
        yield f"controls were not seen: {missed}"


def main(arguments: Sequence[str]) -> int:
    lines = kept()
    if "--write" in arguments:
        lines = kept(whole=True)
        if reasons := list(missing(lines)):
            print("not the results of one whole run: run `make faults`", *reasons, sep="\n  ")
            return 1
        PAGE.write_text(updated(PAGE.read_text(), table(lines)))
    else:
        print(table(lines))
    return int(any(line.violations for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
