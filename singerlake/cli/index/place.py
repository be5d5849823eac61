"""Where the index is that a command is about."""

from __future__ import annotations

from typing import Any

import click

from singerlake.cli.extra import extra_module
from singerlake.lake import Lake

VARIABLE = "SINGERLAKE_INDEX"
DEFAULT = "default"
"""As an address: the lake's own index, in the user's cache."""

_PACKAGES = frozenset({"pyarrow"})

index_option = click.option(
    "--index",
    "index_url",
    envvar=VARIABLE,
    metavar="URL",
    help="The index: sqlite:///FILE, postgresql://HOST/DATABASE or dynamodb://TABLE; without it, "
    f"and for `{DEFAULT}`, a SQLite file in your cache. Also from ${VARIABLE}.",
)


def index_module(name: str) -> Any:
    """`singerlake.index.<name>`. Raises `ConfigError` where a package of the extra is missing."""
    return extra_module(f"index.{name}", "index", _PACKAGES)


def open_storage(lake: Lake, url: str | None, *, create: bool = False) -> Any:
    """The index at an address, or the lake's own. Raises `ConfigError` where there is none, unless
    `create` asks to make one."""
    opening = index_module("open")
    if url in (None, DEFAULT):
        url = opening.default_url(lake.lake_id())
    return opening.open_index(url, create=create)
