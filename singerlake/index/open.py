"""An index by its address."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from singerlake.errors import BadLocation, ConfigError
from singerlake.format.keys import escape
from singerlake.index.storage.base import Storage

EXPECTED = "sqlite:///FILE, postgresql://HOST/DATABASE or dynamodb://TABLE"


def open_index(url: str, *, create: bool = True) -> Storage:
    """The index at an address, which is made where it is missing.

    Raises `BadLocation`, and `ConfigError` where it is missing and not to be made.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        return _sqlite(url, rest, create)
    if scheme in ("postgresql", "postgres"):
        with _required("psycopg"):
            from singerlake.index.storage.postgresql import PostgreSQLStorage
        return PostgreSQLStorage(url)
    if scheme == "dynamodb":
        with _required("boto3"):
            from singerlake.index.storage.dynamodb.storage import open_dynamodb
        parts = urlsplit(url)
        return open_dynamodb(unquote(parts.netloc), dict(parse_qsl(parts.query)))
    raise BadLocation(f"expected an index such as {EXPECTED}, found {url!r}")


@contextmanager
def _required(package: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ConfigError(
            f'this index needs {package}, which is missing: pip install "singerlake[index]"'
        ) from error


def _sqlite(url: str, rest: str, create: bool) -> Storage:
    from singerlake.index.storage.sqlite import SQLiteStorage

    if not rest.startswith("/") or len(rest) < 2:
        raise BadLocation(
            f"expected sqlite:/// and a path (of an absolute path, four slashes), found {url!r}"
        )
    path = Path(unquote(rest[1:]))
    if not create and not path.exists():
        raise ConfigError(f"there is no index at {path}; `singerlake index rebuild` makes it")
    return SQLiteStorage(path)


def default_url(lake_id: str) -> str:
    """The address of a lake's own index: a file in the user's cache."""
    name = f"{escape(lake_id or 'unnamed')}.db"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return f"sqlite:///{Path(base, 'singerlake', 'index', name)}"
