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

from singerlake.errors import AlreadyExists, Changed, StoreError, Unavailable, Unsupported

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
    """The requests that a probe sends.

    A refused condition raises `Changed`; one that the store does not know, `Unsupported`.
    """

    def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> str:
        """Write; returns the version."""

    def remove(self, key: str, *, if_version: str | None = None) -> None:
        """Delete."""


def probe(store: Conditional) -> Support:
    """Try every condition on a hidden object of our own, which is removed again.

    A store is weak if it takes a write that it has to refuse, or says that it knows no
    conditions. Any other answer tells nothing: it raises `Unavailable`, and who tries again
    does so with a new object. A guess would give up the safety of commits for a whole run.
    """
    try:
        return _tried(store, PROBE_PREFIX + uuid.uuid4().hex)
    except Unavailable:
        raise
    except StoreError as error:
        raise Unavailable(
            f"expected an answer that tells whether the store keeps conditional writes, found: "
            f"{error}. Nothing was written. Run again; if this stays, the store or a proxy before "
            "it is at fault: see docs/spec.md#weak-stores for what is asked of it"
        ) from error


def _tried(store: Conditional, key: str) -> Support:
    stale = store.put(key, b"1")
    try:
        replaces = _accepts(lambda: store.put(key, b"2", if_version=stale))
        return Support(
            replace=replaces and _refuses(lambda: store.put(key, b"3", if_version=stale)),
            create=_refuses(lambda: store.put(key, b"4", if_absent=True)),
            # No commit hangs on this one: a store that cannot do it is looked at before a delete.
            delete=_refuses(lambda: store.remove(key, if_version=stale), weak=StoreError),
        )
    finally:
        with contextlib.suppress(StoreError):  # `sweep` finds it
            store.remove(key)


def warn_weak(url: str, why: str = "") -> None:
    """Say once for each store and process that its conditions are only best effort."""
    with _warned_lock:
        if url in _warned:
            return
        _warned.add(url)
    logger.warning(
        "%s does not keep conditional writes%s: two writers of one stream at the same moment may "
        "overwrite each other's commit. Let one writer at a time write a stream, or use a store "
        "that keeps them. See docs/spec.md#weak-stores",
        url,
        f" ({why})" if why else "",
    )


def _accepts(request: Callable[[], object]) -> bool:
    try:
        request()
    except Unsupported:
        return False
    return True


def _refuses(request: Callable[[], object], weak: type[StoreError] = Unsupported) -> bool:
    try:
        request()
    except (AlreadyExists, Changed):
        return True
    except Unavailable:
        raise
    except weak:  # as good as ignored
        return False
    return False
