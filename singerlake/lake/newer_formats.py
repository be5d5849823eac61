"""Documents that a newer program wrote: whoever would change the lake refuses first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format.keys import RunKeys
from singerlake.lake import log, manifest_copy, pins, registry
from singerlake.lake.inventory import Inventory
from singerlake.lake.parallel import in_parallel
from singerlake.lake.runs import log as run_logs
from singerlake.store import Store


def refuse(store: Store, found: Inventory) -> None:
    """Raises `UnsupportedFormat` before anything is written; what is damaged is our business."""

    def read(look: Callable[[], object]) -> None:
        with suppress(NotFound, CorruptDocument):
            look()

    looks: list[Callable[[], object]] = [partial(registry.read_lake_document, store)]
    looks += [partial(registry.read_catalogue, store, tap) for tap in found.tap_ids()]
    looks += [partial(log.read_head, store, keys) for keys in found.streams]
    looks += [
        partial(manifest_copy.read, store, one.keys)
        for one in found.streams.values()
        if one.has_copy
    ]
    looks += [partial(run_logs.read_head, store, RunKeys(tap)) for tap in found.runs]
    looks += [partial(pins.find, store, name) for name in pins.names(store)]
    for _ in in_parallel(read, looks):
        pass
