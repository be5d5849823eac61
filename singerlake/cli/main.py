"""The command line: looking after a lake."""

from __future__ import annotations

import errno
import io
import logging
import sys
import traceback
from typing import Any

import click

from singerlake.cli.commands import LazyGroup
from singerlake.cli.exit_codes import INTERRUPTED, PIPE_CLOSED, POINTER
from singerlake.errors import (
    BusyError,
    ConfigError,
    DamageError,
    InputError,
    ServiceError,
    SingerlakeError,
    StoreError,
    TooManyMisfits,
)

CODES: tuple[tuple[type[SingerlakeError], int], ...] = (
    (ConfigError, 2),
    (TooManyMisfits, 1),
    (InputError, 2),
    (DamageError, 3),
    (BusyError, 4),
    (StoreError, 5),
    (ServiceError, 5),
)
_OUTPUT_FAILS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
FAULT = 70
"""As sysexits.h has it for what a program itself did wrong."""


class _Commands(LazyGroup):
    """Turns our errors into one line and an exit code: a user never sees a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SingerlakeError as error:
            _complain(f"{type(error).__name__}: {error}")
            ctx.exit(next((code for kind, code in CODES if isinstance(error, kind)), FAULT))
        except BrokenPipeError:
            # `singerlake show … | head` is no error; closing stderr silences Python's own word.
            sys.stderr.close()
            ctx.exit(PIPE_CLOSED)
        except (KeyboardInterrupt, click.Abort):
            # click would end with 1, which says that problems were found in the lake.
            click.echo("\nInterrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _OUTPUT_FAILS:
                # Stores have errors of their own: this is where the output goes.
                _complain(f"the output cannot be written: {error.strerror}")
                ctx.exit(5)
            # Nor may Python end with 1.
            traceback.print_exc()
            _complain(
                "this is a fault of singerlake itself: please report it, with the lines above"
            )
            ctx.exit(FAULT)


def _complain(message: str) -> None:
    """Loads rich only where there is something to tell."""
    from singerlake.cli.console import complain

    complain(message)


class _PlainLines(logging.Formatter):
    """A log line may quote what a store or another writer said."""

    def format(self, record: logging.LogRecord) -> str:
        from singerlake.format.printable import plain

        return "\n".join(map(plain, super().format(record).split("\n")))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=POINTER,
)
@click.version_option(package_name="singerlake")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done on the way.")
def main(verbose: bool) -> None:
    """Look after a lake of raw Singer data.

    Commands take [ROOT] [TAP] [STREAM]. ROOT is a folder, or any fsspec URL such as
    s3://bucket/lake. It may be left out where $SINGERLAKE_ROOT has it. `rebuild`, `restore`,
    `vacuum` and `forget` only report what they would do, until they are given --apply. `project`
    has --dry-run for that, and `check` mends nothing without --fix.

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
