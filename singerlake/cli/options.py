"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal

import click

from singerlake.cli.exit_codes import POINTER
from singerlake.errors import ConfigError, CorruptDocument
from singerlake.format import times
from singerlake.lake import Snapshot, schemas
from singerlake.lake.extent import AsOf, Extent, parse_as_of


def command() -> Callable[[Callable[..., Any]], click.Command]:
    """As `click.command`, with a pointer to the exit codes below the help."""
    return click.command(epilog=POINTER)


class Span(click.FloatRange):
    """A span of time that dates can hold: from nothing, or more than that, to a hundred years."""

    def __init__(self, unit: Literal["hours", "seconds"], min_open: bool = False) -> None:
        years = timedelta(days=365 * 100)
        super().__init__(min=0, min_open=min_open, max=years / timedelta(**{unit: 1}))
        self._unit = unit

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        span: float = super().convert(value, param, ctx)
        if math.isnan(span):
            self.fail(f"{value!r} is not a number of {self._unit}", param, ctx)
        return span


json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for scripts.")
apply_option = click.option(
    "--apply", "apply", is_flag=True, help="Do it. Without this, only report what would be done."
)


def require_tap_with_stream(tap: str | None, stream: str | None) -> None:
    if stream is not None and tap is None:
        raise click.UsageError("--stream needs --tap: stream names repeat among taps")


def _since(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> int | datetime | None:
    if value is None:
        return None
    try:
        if value.isascii() and value.isdigit():
            return int(value)
        return times.in_utc(datetime.fromisoformat(value.upper().replace("Z", "+00:00")))
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{value!r} is neither a sequence number nor a time like 2026-11-16T08:00"
        ) from None


since_option = click.option(
    "--since",
    callback=_since,
    metavar="SEQUENCE|TIME",
    help="Only what came after this sequence number, or from this time on (UTC).",
)


def _time(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    try:
        return None if value is None else times.parse_time(value)
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{value!r} is no time like 2026-11-16T08:00") from None


def time_option(flag: str, meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option whose value is a time."""
    return click.option(flag, callback=_time, metavar="TIME", help=meaning)


until_option = time_option("--until", "Hold it until then (UTC); for ever by default.")


def _as_of(context: click.Context, parameter: click.Parameter, value: str | None) -> AsOf | None:
    return None if value is None else parse_as_of(value)


as_of_option = click.option(
    "--as-of",
    callback=_as_of,
    metavar="SEQUENCE|TIME|PIN|RUN",
    help="As it was: without what was committed after this number, this time (UTC), this pin, or "
    "this run; pin:NAME and run:ID say which it is.",
)

run_option = click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="RUN|last",
    help="Only what this run committed, or the last complete one (repeatable).",
)


def extent(runs: tuple[str, ...], as_of: AsOf | None) -> Extent:
    """What the two options ask for together."""
    if "last" in runs and len(runs) > 1:
        raise click.UsageError("--run last stands alone")
    return Extent("last" if runs == ("last",) else runs or "all", as_of)


def schema_hash_of(snapshot: Snapshot, version: str) -> str:
    """The hash of a version given as `v2`, `2`, `latest` or a hash. Raises `ConfigError`, and
    `CorruptDocument` where the manifest does not list the version of its newest file.

    `latest` is that of the newest file, as for the tap and Spark: an old version may come back.
    """
    if version in snapshot.versions:
        return version
    numbers = {known.version: schema_hash for schema_hash, known in snapshot.versions.items()}
    named = {f"v{number}": schema_hash for number, schema_hash in numbers.items()}
    named |= {str(number): schema_hash for number, schema_hash in numbers.items()}
    if version == "latest" and numbers:
        named["latest"] = snapshot.schema_in_use or numbers[max(numbers)]
    keys, found = snapshot.keys, named.get(version)
    if found in snapshot.versions:
        return str(found)
    if found is not None:
        raise CorruptDocument(
            f"{snapshot.store.url}/{keys.manifest}: expected the schema version of its newest file "
            f"among its versions, found none of the hash {found!r}; `singerlake check` shows what "
            "is damaged"
        )
    raise ConfigError(
        f"stream {keys.stream!r} of {keys.tap_id!r} has no schema version {version!r}; "
        f"it has {schemas.listed(snapshot)}"
    )
