"""What the commands of this group share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from singerlake.cli.extra import extra_module

PACKAGES = frozenset(
    {"httptools", "isal", "jsonschema_rs", "openlineage", "prometheus_client", "starlette"}
    | {"uvicorn", "uvloop"}
)

data_option = click.option(
    "--data",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    envvar="SINGERLAKE_LINEAGE_DATA",
    metavar="DIR",
    help="The folder that the proxy keeps its events in.",
)

destination_option = click.option(
    "--destination",
    metavar="NAME",
    help="Only for this backend, by the name that `lineage status` shows.",
)


def lineage_module(name: str) -> Any:
    """`singerlake.lineage.<name>`. Raises `ConfigError` where the extra is not installed."""
    return extra_module(f"lineage.{name}", "lineage", PACKAGES)
