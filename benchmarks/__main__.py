"""`python -m benchmarks [name …]`: run benchmarks, show them, keep their results."""

from __future__ import annotations

import datetime
import importlib
import inspect
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from benchmarks import NAMES, pairs
from benchmarks.result import Result, as_json, as_markdown, show

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "benchmarks.md"
PAIRS = "pairs"
"""Not among the names: it takes a revision to compare with."""

CASE = click.Choice([case.name for case in pairs.CASES])


def _summary(name: str) -> str:
    module = importlib.import_module(f"benchmarks.{name}")
    return (inspect.getdoc(module) or "").partition("\n")[0]


class _Command(click.Command):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Benchmarks"):
            formatter.write_dl([(name, _summary(name)) for name in (*NAMES, PAIRS)])


@click.command(cls=_Command)
@click.argument("names", nargs=-1, type=click.Choice([*NAMES, PAIRS]), metavar="[NAME]...")
@click.option("--json", "as_document", is_flag=True, help="Print the results as one JSON object.")
@click.option("--write", is_flag=True, help="Keep the results in the docs.")
@click.option("--base", metavar="REVISION", help="The code that pairs compares ours with.")
@click.option("--pairs", "count", default=pairs.PAIRS, help="How many pairs.", show_default=True)
@click.option("--case", "cases", multiple=True, type=CASE, help="Of pairs; all by default.")
def main(
    names: Sequence[str],
    as_document: bool,
    write: bool,
    base: str | None,
    count: int,
    cases: Sequence[str],
) -> None:
    """Run the named benchmarks, or all but pairs. Ends with status 1 where a goal is missed."""
    if PAIRS in names and base is None:
        raise click.UsageError(f"{PAIRS} needs --base")
    # Results go to standard output, all else beside it.
    console = Console(width=None if sys.stdout.isatty() else 140)
    progress = Console(stderr=True)
    results: dict[str, Result] = {}
    for name in names or NAMES:
        progress.print(f"[bold]{name}[/]: {_summary(name)}")
        module = importlib.import_module(f"benchmarks.{name}")
        results[name] = module.run(base, count, cases) if name == PAIRS else module.run()
        if not as_document:
            show(results[name], console)
        if write:
            page = getattr(module, "PAGE", PAGE)
            text = page.read_text() if page.exists() else "# Benchmarks\n"
            options = f" --base {base}" if name == PAIRS else ""
            page.write_text(updated(text, name, results[name], options))
            for image, drawn in results[name].images.items():
                (DOCS / "images" / image).write_text(drawn)
    if as_document:
        found = {name: as_json(result) for name, result in results.items()}
        click.echo(json.dumps(found, indent=2))
    if not all(result.is_met for result in results.values()):
        sys.exit(1)


def updated(page: str, name: str, result: Result, options: str = "") -> str:
    """The page with this result between the benchmark's markers, which are added if need be."""
    begin, end = f"<!-- results of {name} -->", f"<!-- end of {name} -->"
    machine = (
        f"`python -m benchmarks {name}{options} --write`, {datetime.date.today():%Y-%m-%d}, "
        f"{platform.system()}, {os.cpu_count()} cores, Python {platform.python_version()}."
    )
    block = f"{begin}\n{machine}\n\n{as_markdown(result)}\n{end}"
    if begin not in page:
        return f"{page.rstrip()}\n\n## {name}\n\n{block}\n"
    before, _, rest = page.partition(begin)
    return before + block + rest.partition(end)[2]


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
