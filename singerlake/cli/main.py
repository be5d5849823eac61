"""The command line: looking after a lake."""

from __future__ import annotations

import io
import logging
import sys
import traceback
from typing import Any

import click

from singerlake.cli.annotate import annotate
from singerlake.cli.cat import cat
from singerlake.cli.check import check
from singerlake.cli.completion import completion
from singerlake.cli.console import complain
from singerlake.cli.demo import demo
from singerlake.cli.diff import diff
from singerlake.cli.doctor import doctor
from singerlake.cli.du import du
from singerlake.cli.log import log
from singerlake.cli.ls import ls
from singerlake.cli.name import plain
from singerlake.cli.options import EXIT_CODES
from singerlake.cli.project import project
from singerlake.cli.rebuild import rebuild
from singerlake.cli.show import show
from singerlake.cli.site import site
from singerlake.cli.vacuum import vacuum
from singerlake.cli.verify import verify
from singerlake.errors import (
    BusyError,
    ConfigError,
    DamageError,
    InputError,
    SingerlakeError,
    StoreError,
)

CODES: tuple[tuple[type[SingerlakeError], int], ...] = (
    (ConfigError, 2),
    (InputError, 2),
    (DamageError, 3),
    (BusyError, 4),
    (StoreError, 5),
)
FAULT = 70
"""As sysexits.h has it for what a program itself did wrong."""


class _Commands(click.Group):
    """Turns our errors into one line and an exit code: a user never sees a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SingerlakeError as error:
            complain(f"{type(error).__name__}: {error}")
            ctx.exit(next((code for kind, code in CODES if isinstance(error, kind)), FAULT))
        except BrokenPipeError:
            # `singerlake show … | head` is no error; closing stderr silences Python's own word.
            sys.stderr.close()
            ctx.exit(141)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception:
            # Python would end with 1, which says that problems were found in the lake.
            traceback.print_exc()
            complain("this is a fault of singerlake itself: please report it, with the lines above")
            ctx.exit(FAULT)


class _PlainLines(logging.Formatter):
    """A log line may quote what a store or another writer said."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(plain, super().format(record).split("\n")))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(package_name="singerlake")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done on the way.")
def main(verbose: bool) -> None:
    """Look after a lake of raw Singer data.

    ROOT is a folder, or any fsspec URL such as s3://bucket/lake. It may be left out where
    $SINGERLAKE_ROOT tells it. What would replace or delete something only tells so, until it is
    given --apply.

    \b
    Examples:
      singerlake demo
      singerlake ls s3://bucket/lake
      singerlake show ./lake tap-github--meltano issues
      singerlake diff ./lake tap-github--meltano issues
      singerlake cat ./lake tap-github--meltano issues --limit 5
      singerlake check ./lake
      singerlake doctor s3://bucket/lake
      singerlake site serve ./lake
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name may be more than a locale holds
    handler = logging.StreamHandler()
    handler.setFormatter(_PlainLines("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


COMMANDS: tuple[click.Command, ...] = (
    ls,
    show,
    cat,
    diff,
    log,
    du,
    check,
    rebuild,
    annotate,
    doctor,
    site,
    vacuum,
    project,
    verify,
    demo,
    completion,
)
for command in COMMANDS:
    main.add_command(command)
