"""`singerlake process run`: a job on what is committed."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any

import click

from singerlake.cli.console import say
from singerlake.cli.exit_codes import POINTER
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_option
from singerlake.cli.process.job import choice as jobs
from singerlake.cli.process.measuring import measuring
from singerlake.cli.root import Root, root_arguments
from singerlake.lake.feed.options import FeedOptions
from singerlake.processor import LakeSource, Processor, open_engine

COMMAND = "singerlake.process.command"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class _WithCommand(click.Command):
    """Everything after the first `--` is a command line of the user's own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND…]"]


class _Every(click.ParamType):  # type: ignore[type-arg]
    name = "span"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", str(value))
        if found is None:
            self.fail(f"{value!r} is no span such as 90s, 30m, 6h or 1d", param, ctx)
        return float(found[1]) * _UNITS[found[2] or "s"]


@click.command(cls=_WithCommand, epilog=POINTER)
@root_arguments(optional=("tap", "stream"))
@engine_option
@click.option(
    "--job",
    metavar="JOB",
    help="vacuum, project:OUT, webhook:URL, or MODULE:FUNCTION; or give a COMMAND after --.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Whose place in the lake this is; by default the job's, such as vacuum or on-commit.sh.",
)
@click.option(
    "--from",
    "begin",
    metavar="start|now|PIN",
    help="Where to begin, for an engine that does not know NAME yet.",
)
@click.option("--every", type=_Every(), metavar="SPAN", help="At most once in SPAN for a stream.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Streams at once in this process.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Streams at once, over all processors.")
@click.option(
    "--max-deliveries",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How often an event is tried before it is a dead letter.",
)
@click.option(
    "--on-dead",
    type=click.Choice(["hold", "skip"]),
    default="hold",
    show_default=True,
    help="Whether a dead letter holds its stream, or the stream goes on.",
)
@click.option("--at-most-once", is_flag=True, help="Never hand out an event a second time.")
@click.option(
    "--coalesce/--no-coalesce",
    default=None,
    help="One call for all commits that wait; on for vacuum and project.",
)
@click.option(
    "--lease",
    type=click.FloatRange(min=1),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a stream stays with a processor that is silent.",
)
@click.option(
    "--poll",
    type=click.FloatRange(min=0.05),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often the lake is asked for new commits.",
)
@click.option("--until-idle", is_flag=True, help="End once everything is processed.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve metrics for Prometheus there.")
@click.option("--statsd", metavar="HOST:PORT", help="Push metrics to statsd there.")
@click.pass_context
def run(
    ctx: click.Context,
    root: Root,
    tap: str | None,
    stream: str | None,
    engine_url: str,
    job: str | None,
    name: str | None,
    begin: str | None,
    every: float | None,
    concurrency: int,
    limit: int | None,
    max_deliveries: int,
    on_dead: str,
    at_most_once: bool,
    coalesce: bool | None,
    lease: float,
    poll: float,
    until_idle: bool,
    metrics: str | None,
    statsd: str | None,
) -> None:
    """Run a job on what is committed.

    A commit to a stream of the lake at ROOT becomes one event; the events of a stream are processed
    in order, one at a time, by whichever processor with this engine and NAME is free. Runs until
    SIGTERM or Ctrl-C, which free its streams at once and count no attempt.

    A COMMAND is started for each event, with the event as one line of JSON on its stdin: exit code
    0 is done, 75 later, anything else a failed attempt.

    \b
    Examples:
      singerlake process run ./lake --job vacuum --every 30m
      singerlake process run ./lake tap-github--meltano --job project:./tables?mode=current
      singerlake process run s3://bucket/lake --engine redis://queue:6379 --job jobs:on_commit
      singerlake process run ./lake --job webhook:https://example.org/hook --from now
      singerlake process run ./lake --until-idle -- ./on-commit.sh
    """
    if at_most_once and every is not None:
        raise click.UsageError("--every puts events back, which --at-most-once rules out")
    lake = root.lake()
    made = jobs.made(lake, root, job, ctx.meta.get(COMMAND))
    source = LakeSource(
        lake,
        name or made.name,
        None if tap is None else [tap],
        None if stream is None else [stream],
        begin=begin,
        options=FeedOptions(poll_seconds=poll, idle_seconds=max(poll, 60.0)),
    )
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(engine_url))
        observer = stack.enter_context(measuring(engine, metrics, statsd))
        stack.callback(made.close)
        processor = Processor(
            engine,
            made.job if every is None else jobs.every(made.job, every),
            concurrency,
            source=source,
            observer=observer,
            lease=lease,
            limit=limit or 0,
            max_deliveries=max_deliveries,
            on_dead=on_dead,
            at_most_once=at_most_once,
            coalesce=made.coalesce if coalesce is None else coalesce,
        )
        if until_idle:
            jobs.stop_when_idle(processor, source)
        processor.run()
        counts = observer.counts
    say(
        f"{counts['done']:,} events processed, {counts['retried']:,} failed attempts, "
        f"{counts['dead']:,} dead letters, by ",
        shown(made.name),
    )
