"""`--index`: the index that a command asks, where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from singerlake.errors import ConfigError
from singerlake.lake import Lake

if TYPE_CHECKING:
    from singerlake.index import Storage

VARIABLE = "SINGERLAKE_INDEX"

index_option = click.option(
    "--index",
    envvar=VARIABLE,
    metavar="URL",
    help="Ask this index: sqlite:///FILE, postgresql://HOST/DATABASE or dynamodb://TABLE. Also "
    f"from ${VARIABLE}.",
)


def opened(url: str, lake: Lake) -> Storage:
    """The index of the lake. Raises `ConfigError` where it is that of another, or none."""
    storage = _open(url)
    if storage.lake_id != lake.lake_id():
        raise ConfigError(
            f"{storage.url}: expected the index of {lake.store.url}, found that of "
            f"{'no lake yet' if storage.lake_id is None else 'another lake'}; `singerlake index "
            "rebuild` makes one"
        )
    return storage


def _open(url: str) -> Storage:
    """Raises `ConfigError` where a package is missing that this kind of index needs."""
    from singerlake.index import open_index

    try:
        return open_index(url, create=False)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "singerlake":
            raise
        raise ConfigError(
            f"{url.partition('://')[0]}:// needs {error.name}, which is missing: pip install "
            '"singerlake[index]"'
        ) from error
