"""Finding out what a store does with conditions: by trying, since some ignore them and answer 200.

A store that cannot refuse a write is still of use, with a weaker promise, which is said
aloud once in the log.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from singerlake.errors import AlreadyExists, Changed, StoreError, Unavailable

PROBE_PREFIX = ".singerlake-probe-"

logger = logging.getLogger("singerlake.store")

_warned: set[str] = set()
_warned_lock = threading.Lock()


@dataclass(frozen=True)
class Support:
    """Which conditions the store itself keeps."""

    create: bool
    replace: bool
    delete: bool


class Conditional(Protocol):
    """The requests that a probe sends; a refused condition raises `Changed`."""

    def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> str:
        """Write; returns the version."""

    def remove(self, key: str, *, if_version: str | None = None) -> None:
        """Delete."""


def probe(store: Conditional) -> Support:
    """Try every condition on a hidden object of our own, which is removed again."""
    key = PROBE_PREFIX + uuid.uuid4().hex
    stale = store.put(key, b"1")
    try:
        replaces = _accepts(lambda: store.put(key, b"2", if_version=stale))
        return Support(
            replace=replaces and _refuses(lambda: store.put(key, b"3", if_version=stale)),
            create=_refuses(lambda: store.put(key, b"4", if_absent=True)),
            delete=_refuses(lambda: store.remove(key, if_version=stale)),
        )
    finally:
        with contextlib.suppress(Unavailable):  # `sweep` finds it
            store.remove(key)


def warn_weak(url: str) -> None:
    """Say once for each store and process that its conditions are only best effort."""
    with _warned_lock:
        if url in _warned:
            return
        _warned.add(url)
    logger.warning(
        "%s does not keep conditional writes: two writers of one stream at the same moment may "
        "overwrite each other's commit. Let one writer at a time write a stream, or use a store "
        "that keeps them. See docs/spec.md#weak-stores",
        url,
    )


def _accepts(request: Callable[[], object]) -> bool:
    try:
        request()
    except Unavailable:
        raise
    except StoreError:
        return False
    return True


def _refuses(request: Callable[[], object]) -> bool:
    try:
        request()
    except (AlreadyExists, Changed):
        return True
    except Unavailable:
        raise
    except StoreError:  # not implemented: as good as ignored
        return False
    return False
