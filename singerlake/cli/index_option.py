"""`--index` of commands that ask an index where there is one, and the lake otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from singerlake.cli.index.place import DEFAULT, VARIABLE
from singerlake.errors import ConfigError
from singerlake.lake import Lake

if TYPE_CHECKING:
    from singerlake.index import Storage

index_option = click.option(
    "--index",
    envvar=VARIABLE,
    metavar="URL",
    help="Ask this index: sqlite:///FILE, postgresql://HOST/DATABASE or dynamodb://TABLE, or "
    f"`{DEFAULT}` for the one in your cache. Also from ${VARIABLE}.",
)


def opened(url: str, lake: Lake) -> Storage:
    """The index of the lake. Raises `ConfigError` where it is that of another, or none."""
    from singerlake.index.open import default_url, open_index

    lake_id = lake.lake_id()
    storage = open_index(default_url(lake_id) if url == DEFAULT else url, create=False)
    if (known := storage.lake_id) == lake_id:
        return storage
    storage.close()
    found = "no lake yet" if known is None else "another lake"
    raise ConfigError(
        f"{storage.url}: expected the index of {lake.store.url}, found that of {found}; "
        "`singerlake index rebuild` makes one"
    )
