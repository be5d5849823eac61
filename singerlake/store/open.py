"""From a lake's address to its store.

The one place with imports inside functions: s3fs takes half a second to import, and whoever
works on a local folder, or asks for `--help`, should not wait for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from singerlake.errors import BadLocation
from singerlake.store.address import password, public_url
from singerlake.store.base import Store
from singerlake.store.retrying import Retrying

_SECONDS = 120.0  # for a call to a store that has no time limit of its own
# A URL that lost a slash, as pathlib makes them; a single letter is a drive.
_ONE_SLASH = re.compile(r"([a-z][a-z0-9+.-]+):/(?!/)", re.I)
_EXTRAS = {
    "gs": "singerlake[gcs]",
    "gcs": "singerlake[gcs]",
    "abfs": "singerlake[azure]",
    "abfss": "singerlake[azure]",
    "az": "singerlake[azure]",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "smb": "smbprotocol",
}


def open_store(url: str | Path, storage_options: Mapping[str, Any] | None = None) -> Store:
    """The store at a local path or a URL; nothing is asked of it yet.

    `storage_options` are those of the scheme's fsspec file system. Raises `BadLocation`.
    """
    address = os.fspath(url)
    if not address.strip():
        raise BadLocation("the lake's address is empty: give a local path or a URL")
    options = _check_options(storage_options)
    if (short := _ONE_SLASH.match(address)) and not os.path.exists(address):  # noqa: PTH110
        raise BadLocation(
            f"the lake's address begins with {short[0]}: write {short[1]}://…, or ./{short[0]}… "
            "for a folder of that name here"
        )
    scheme = address.partition("://")[0].lower() if "://" in address else ""
    if scheme in ("", "file", "local"):
        return _local(_file_path(address) if scheme else address, options)
    if scheme in ("s3", "s3a"):
        return _s3(address, options)
    if scheme == "memory":
        from singerlake.store.memory import MemoryStore

        return MemoryStore(address.partition("://")[2].strip("/"))
    return _other(scheme, address, options)


def _check_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    if options is not None and not isinstance(options, Mapping):
        raise BadLocation(f"storage_options must be a mapping, not a {type(options).__name__}")
    return {name: _plain(value) for name, value in (options or {}).items()}


def _plain(value: Any) -> Any:
    """Numbers as the libraries below can add them up: some readers of JSON give decimals."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return float(value) if isinstance(value, Decimal) else value


def _file_path(url: str) -> str:
    shown = public_url(url)
    try:
        parts = urlsplit(url)
    except ValueError:  # which may quote the URL
        raise BadLocation(f"{shown!r} is no URL; a file URL is file:///path") from None
    if parts.netloc not in ("", "localhost"):
        raise BadLocation(f"{shown} names a host; a file URL is file:///path")
    if parts.query or parts.fragment:
        raise BadLocation(f"{shown!r}: in a file URL, ? is written %3F and # is written %23")
    return unquote(parts.path)


def _local(path: str, options: Mapping[str, Any]) -> Store:
    from singerlake.store.local import LocalStore

    if options:
        names = ", ".join(sorted(map(str, options)))
        raise BadLocation(f"{path} is a local folder, which takes no storage_options ({names})")
    try:
        return LocalStore(_expanded(path))
    except (RuntimeError, ValueError) as error:  # a loop of links, or a character that no path has
        raise BadLocation(f"{path!r} cannot be a lake's folder: {error}") from None


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise BadLocation(f"{path}: nobody has that home; write the whole path") from None


def _s3(url: str, options: Mapping[str, Any]) -> Store:
    try:
        from singerlake.store.s3 import S3Store
    except ImportError as error:
        raise BadLocation(f"S3 needs the package s3fs ({error}): pip install s3fs") from error
    return Retrying(S3Store(url, options))


def _other(scheme: str, url: str, options: Mapping[str, Any]) -> Store:
    from fsspec import get_filesystem_class

    from singerlake.store.generic import FsspecStore
    from singerlake.store.time_limited import TimeLimited

    user = password(url).partition("@")[0]
    if any(mark in user for mark in "/?#"):  # fsspec would take what is before it for a port
        raise BadLocation(
            f"{public_url(url)}: a password with / ? or # cannot stand in a URL: give it in "
            "storage_options"
        )
    try:
        get_filesystem_class(scheme)
    except ValueError:
        raise BadLocation(
            f"{public_url(url)}: nothing knows the scheme {scheme}://; a lake can be at a local "
            "path, s3://, gs://, abfs://, or another scheme of an installed fsspec package"
        ) from None
    except ImportError as error:
        package = _EXTRAS.get(scheme)
        advice = f'pip install "{package}"' if package else str(error)
        raise BadLocation(f"{public_url(url)}: a package is missing: {advice}") from error
    return Retrying(TimeLimited(FsspecStore(url, options), _SECONDS))
