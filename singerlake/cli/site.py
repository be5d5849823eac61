"""`singerlake site`: the lake as pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from singerlake.cli.console import complain, plural, print_json, print_json_lines, say
from singerlake.cli.exit_codes import POINTER
from singerlake.cli.extra import extra_module
from singerlake.cli.index_option import index_option
from singerlake.cli.name import shown
from singerlake.cli.options import json_option
from singerlake.cli.progress import progress
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.site_rows import found_rows
from singerlake.cli.storage_options import options_of_output
from singerlake.errors import ConfigError
from singerlake.lake import Lake, clock
from singerlake.lake import check as run_check
from singerlake.lake.scratch import temporary_folder
from singerlake.store import Store, open_store

if TYPE_CHECKING:
    from singerlake.site.build import Built
    from singerlake.site.lineage import LineageOf
    from singerlake.site.problems import Checked

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(epilog=POINTER)
def site() -> None:
    """Make pages of a lake.

    Taps, streams, schemas, arrivals, problems, and how to load them.

    The pages hold names, schemas, counts and times, what people wrote about the taps, and the
    lake's address. They hold no records and no credentials.

    \b
    Examples:
      singerlake site serve ./lake
      singerlake site build s3://bucket/lake --out ./site --check
    """


def page_options(command: Command) -> Command:
    for decorate in (
        click.option(
            "--address",
            metavar="URL",
            help="Where readers of the pages find the lake, if not at ROOT: snippets name it.",
        ),
        click.option(
            "--title",
            metavar="TEXT",
            help="What the pages call the lake; by default the last part of its address.",
        ),
        click.option(
            "--check-report",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Show the problems in FILE, which `singerlake check --json` printed.",
        ),
        click.option("--check", is_flag=True, help="Check the lake first: reads every file."),
        click.option(
            "--tables",
            "outputs",
            multiple=True,
            metavar="URL",
            help="Show the tables that `singerlake project` published there (repeatable).",
        ),
        index_option,
    ):
        command = decorate(command)
    return command


@site.command(epilog=POINTER)
@root_arguments()
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder to write: a new one, an empty one, or a site that was built before.",
)
@page_options
@json_option
def build(
    root: Root,
    out: Path,
    check: bool,
    check_report: Path | None,
    title: str | None,
    address: str | None,
    outputs: tuple[str, ...],
    index: str | None,
    as_json: bool,
) -> None:
    """Write the pages of the lake at ROOT to a folder.

    They work from there, and from any bucket or web server that they are copied to. Problems
    are told on the pages, and do not fail the build. A build that fails leaves the former site as
    it was.

    \b
    Examples:
      singerlake site build ./lake --out ./site
      singerlake site build s3://bucket/lake --out ./site --check
      singerlake check ./lake --json > checked.json
      singerlake site build ./lake --out ./site --check-report checked.json
    """
    from singerlake.site.folder import require_ours

    require_ours(out)  # before a check, which may take an hour
    found = root.lake()
    checked = _checked(found, check, check_report)
    built = _built(found, out, title, address, checked, _stores(root, outputs), index)
    first_page = out / "index.html"
    if as_json:
        print_json({**asdict(built), "index": first_page})
        return
    say(
        shown(first_page),
        f": {plural(built.taps, 'tap')}, {plural(built.streams, 'stream')}, "
        f"{plural(built.pages, 'page')}, {plural(built.problems, 'problem')}"
        f"{'' if built.checked else ' (not checked)'}",
    )


@site.command(epilog=POINTER)
@root_arguments()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to serve at; a free one if not given.",
)
@click.option(
    "--refresh",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Build again when a page is asked for and the last build is so old.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open it in the browser.")
@page_options
@json_option
def serve(
    root: Root,
    host: str,
    port: int,
    refresh: float,
    open_browser: bool,
    check: bool,
    check_report: Path | None,
    title: str | None,
    address: str | None,
    outputs: tuple[str, ...],
    index: str | None,
    as_json: bool,
) -> None:
    """Serve the pages of the lake at ROOT.

    To a browser on this machine, until Ctrl+C. A page that is asked for comes at once; if it is
    older than --refresh, the pages are built again meanwhile, and the next look shows them.
    --check checks once, at the start. --json prints the address in one line, once it answers.

    \b
    Examples:
      singerlake site serve ./lake
      singerlake site serve s3://bucket/lake --port 8080 --check
      singerlake site serve ./lake --json | jq .url
    """
    from singerlake.site.serve import LOOPBACK, Fresh, Server

    found = root.lake()
    checked, stores = _checked(found, check, None), _stores(root, outputs)
    with temporary_folder() as folder:

        def rebuild() -> None:
            newest = checked if check_report is None else _checked(found, False, check_report)
            _built(found, Path(folder), title, address, newest, stores, index)

        rebuild()
        with Server(Path(folder), host, port, Fresh(rebuild, refresh)) as server:
            if host not in LOOPBACK:
                complain(f"everybody who reaches {host} can read these pages", "Note")
            if as_json:
                print_json_lines([{"url": server.url}])
            else:
                click.echo(f"Serving {server.url} (Ctrl+C ends it)")
            if open_browser:
                click.launch(server.url)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                click.echo(err=True)


def _stores(root: Root, outputs: tuple[str, ...]) -> list[Store]:
    return [
        open_store(url, options_of_output(root.url, root.options, url, None)) for url in outputs
    ]


def _built(
    lake: Lake,
    out: Path,
    title: str | None,
    address: str | None,
    checked: Checked | None,
    outputs: Sequence[Store],
    index: str | None,
) -> Built:
    from singerlake.site.build import build as run_build

    rows = None if index is None else found_rows(index, lake)
    with progress("building") as show:
        return run_build(
            lake,
            out,
            title=title or "",
            address=address or "",
            checked=checked,
            outputs=outputs,
            found=rows,
            lineage=_lineage(lake, outputs),
            progress=show,
        )


def _lineage(lake: Lake, outputs: Sequence[Store]) -> LineageOf:
    """What the pages draw of each stream: the command hands it over."""
    from singerlake.site.lineage import LineageFacts, Neighbour

    graphs = extra_module("lineage.graph", "lineage", frozenset()).Graphs(lake, outputs)

    def of(tap: str, stream: str) -> LineageFacts:
        sides = (graphs.sources(tap, stream), graphs.consumers(tap, stream))
        sources, consumers = (tuple(Neighbour(**asdict(one)) for one in side) for side in sides)
        return LineageFacts(sources, consumers)

    return of


def _checked(lake: Lake, check: bool, report: Path | None) -> Checked | None:
    from singerlake.site.problems import of_report, read_report

    if check and report is not None:
        raise click.UsageError("--check and --check-report: one of them is enough")
    if check:
        with progress("checking") as show:
            return of_report(run_check(lake.store, progress=show), clock.now())
    if report is None:
        return None
    try:
        data, changed = report.read_bytes(), report.stat().st_mtime
    except OSError as error:
        raise ConfigError(f"{report}: {error}") from error
    # The report does not say when it was made: its file does, near enough.
    return read_report(data, str(report), datetime.fromtimestamp(changed, timezone.utc))
