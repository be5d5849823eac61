"""What was made of a stream, noted in the lake document by the jobs that made it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from singerlake.errors import Changed, NotFound, SingerlakeError
from singerlake.format import consumer, lake_document
from singerlake.format import keys as key_names
from singerlake.format.consumer import Consumer
from singerlake.lake import registry
from singerlake.store import Promise, Store

logger = logging.getLogger(__name__)

TRIES = 3
"""How often a note is tried: it is not worth a wait."""


def of_stream(store: Store, tap: str, stream: str) -> tuple[Consumer, ...]:
    """The jobs that noted themselves, the newest first."""
    body = registry.read_lake_document(store)
    return () if body is None else consumer.of_stream(body, tap, stream)


def note(store: Store, tap: str, consumers: Mapping[str, Consumer]) -> bool:
    """Note these consumers, by stream. Never raises: a job may read a lake that it may not write.

    Returns whether they are noted. Not in a store that cannot replace a document safely: what
    people write at the same time would be lost; nor in a lake that is read-only.
    """
    try:
        return _note(store, tap, consumers)
    except SingerlakeError as error:
        logger.info("The lake document does not say what was made of the streams: %s", error)
        return False


def _note(store: Store, tap: str, consumers: Mapping[str, Consumer]) -> bool:
    key = key_names.LAKE_DOCUMENT
    for _ in range(TRIES):
        try:
            stored = store.read(key)
        except NotFound:
            return False
        body = lake_document.decode(stored.data, f"{store.url}/{key}")
        # The status first: a store finds out its promise by writing.
        if lake_document.status(body) or store.promise() is not Promise.CONDITIONAL:
            return False
        changed = consumer.with_consumers(body, tap, consumers)
        try:
            store.replace(key, lake_document.encode(changed), stored.version)
        except Changed:
            continue
        return True
    return False
