"""`singerlake land`: starts a tap and the target, and lets the target see how the tap ended."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from singerlake.cli.exit_codes import POINTER
from singerlake.cli.pipeline import Pipeline
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.tap_version import tap_version
from singerlake.errors import ConfigError
from singerlake.lake.runs.surroundings import TAP_VERSION

TARGET = (sys.executable, "-m", "target_singerlake")
COMMAND = "singerlake.land"


class _WithCommand(click.Command):
    """Everything after the first `--` is the tap's own command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND…"]


@click.command(cls=_WithCommand, epilog=POINTER)
@root_arguments(optional=("tap",))
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="More settings of target-singerlake, as JSON.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep the newest STATE in this file; without it, every STATE goes to stdout.",
)
@click.pass_context
def land(
    ctx: click.Context, root: Root, tap: str | None, config: Path | None, state: Path | None
) -> None:
    """Start a tap, and land what it sends.

    COMMAND, after --, starts the tap; what it sends goes to target-singerlake, and into the lake at
    ROOT. As in a shell's pipe, but the target learns the tap's exit code: a run whose tap failed is
    `failed`, and never looks complete. Signals go to both. TAP is the tap's id,
    `<tap name>--<variant>`; it may stand in --config instead. Exits as the target does where that
    fails, else as the tap does, and with 128 + N where signal N ended them.

    \b
    Examples:
      singerlake land ./lake tap-github--meltanolabs -- tap-github --config github.json
      singerlake land s3://bucket/lake --tap tap-x --state state.json -- tap-x --state state.json
      singerlake land ./lake --config target.json -- ./my-tap.sh > states.jsonl
    """
    command = ctx.meta.get(COMMAND)
    if not command:
        raise click.UsageError("Missing -- and the command that starts the tap behind it.")
    if os.name == "nt":
        raise ConfigError("singerlake land needs the pipes and signals of Linux or macOS")
    target = [*TARGET, "--config", "ENV"]
    if config is not None:
        target[-2:-2] = ["--config", str(config)]
    pipeline = Pipeline(command, target, _environment(root, tap, command[0]), state)
    ctx.exit(pipeline.run())


def _environment(root: Root, tap: str | None, command: str) -> dict[str, str]:
    """The target's environment: what was said here counts before what stands in --config."""
    more: dict[str, Any] = {"TARGET_SINGERLAKE_LAKE_ROOT": root.url}
    if tap is not None:
        more["TARGET_SINGERLAKE_TAP_ID"] = tap
    if root.options:
        more["TARGET_SINGERLAKE_STORAGE_OPTIONS"] = json.dumps(dict(root.options))
    if version := tap_version(command):
        more[TAP_VERSION] = version
    return {**os.environ, **more}
