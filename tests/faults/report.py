"""`python -m tests.faults.report [--write]`: what the suites counted, as a table.

`--write` keeps it in docs/reliability.md, and takes only lines of a whole run.
"""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from tests.faults.result import Line, kept

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- results of make faults -->", "<!-- end of make faults -->"
HEADER = "| what | runs | faults | replayed | violations | bounds | seconds |"


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
    rows += [_row(line) for line in lines if not line.controls]
    controls = sum(line.controls for line in lines)
    seen = f"\n\nControls: {controls} of {controls} broken variants were seen." if controls else ""
    command = f"`SINGERLAKE_FAULTS=whole pytest {' '.join(modules)}`"
    return f"### {suite}\n\n{command}; `-k` with words of a line runs it alone.\n\n" + (
        "\n".join(rows) + seen
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
    real = [line for line in lines if not line.controls]
    runs, faults = sum(line.runs for line in real), sum(line.faults for line in real)
    violations = sum(line.violations for line in real)
    replays = sum(line.replays for line in real)
    controls = sum(line.controls for line in lines)
    return (
        f"{datetime.date.today():%Y-%m-%d}, {platform.system()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}: **{runs:,} runs, {faults:,} faults, {violations} "
        f"violations**; {replays:,} records there twice because their STATE had not come out; "
        f"{controls} of {controls} controls seen."
    )


def updated(page: str, block: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{block}\n{END}{rest.partition(END)[2]}"


def main(arguments: Sequence[str]) -> int:
    lines = kept()
    if "--write" in arguments:
        lines = kept(whole=True)
        if not lines:
            print("no results of a whole run: run `make faults`", file=sys.stderr)
            return 1
        PAGE.write_text(updated(PAGE.read_text(), table(lines)))
    else:
        print(table(lines))
    return int(any(line.violations for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
