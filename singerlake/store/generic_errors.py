"""What fsspec's file systems raise, in the words of the store's contract."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from singerlake.errors import (
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    SingerlakeError,
    StoreError,
    Unavailable,
)
from singerlake.store.secrets import cause, text_of


@contextlib.contextmanager
def explained(where: str, options: Mapping[str, Any], *, write: bool) -> Iterator[None]:
    """Turn any error into one that the contract names: each backend raises its own kinds."""
    try:
        yield
    except SingerlakeError:
        raise
    except Exception as error:
        text = f"{where}: {text_of(error, options)}"
        raise _kind(error, write)(text) from cause(error, options)


_MISSING = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


def _kind(error: Exception, write: bool) -> type[SingerlakeError]:
    status = _status(error)
    if isinstance(error, _MISSING) or status == 404:
        return NotFound
    if isinstance(error, FileExistsError) and not write:  # a path below an object, in memory
        return NotFound
    if isinstance(error, PermissionError) or status in (401, 403):
        return PermissionDenied
    # asyncio's and fsspec's own time-outs are TimeoutErrors only since Python 3.11.
    silent = isinstance(error, (TimeoutError, ConnectionError, EOFError)) or _is_cut_off(error)
    if silent or "Timeout" in type(error).__name__ or status in (408, 429) or status >= 500:
        return OutcomeUnknown if write else Unavailable
    return StoreError


def _is_cut_off(error: Exception) -> bool:
    """Whether the connection is gone, in the words of paramiko, which SFTP goes through."""
    return type(error).__name__ == "SSHException" or "Socket is closed" in str(error)


def _status(error: Exception) -> int:
    """The HTTP status, where the backend's error has one (gcsfs: `code`, Azure: `status_code`)."""
    for name in ("code", "status_code", "status"):
        value = getattr(error, name, None)
        if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
            return int(value)
    return 0
