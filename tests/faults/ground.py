"""Lakes to begin with: what lies there before a fault, and what of it was acknowledged."""

from __future__ import annotations

from collections.abc import Iterable

from singerlake.format.keys import StreamKeys
from singerlake.lake import merge
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store
from tests.faults.truth import Truth
from tests.faults.work import ALL, OF_OTHER, OTHER, SMALL
from tests.lake.landing import KEYS, TAP, files_in, land, land_each, objects_in, put_orphan

OTHER_KEYS = StreamKeys(TAP, OTHER)


def nothing(store: Store, truth: Truth) -> None:
    """A lake that does not exist yet."""


def few_files(store: Store, truth: Truth) -> None:
    _landed(store, truth, range(3))


def small_files(store: Store, truth: Truth) -> None:
    """Two schemas, and with a small fan-out segments of several levels."""
    _landed(store, truth, range(9))
    _landed(store, truth, range(9, 11), version=2)


def merged(store: Store, truth: Truth) -> None:
    """A merged file, and those that it replaced."""
    few_files(store, truth)
    vacuum(store, KEYS, ALL)


def merged_twice(store: Store, truth: Truth) -> None:
    """Replaced files, documents and segments, and a merge that was never committed."""
    small_files(store, truth)
    vacuum(store, KEYS, SMALL)
    _landed(store, truth, range(11, 14))
    vacuum(store, KEYS, ALL)
    _landed(store, truth, range(14, 16))
    merge.merge_files(store, KEYS, files_in(store)[-2:], 1, "a vacuum that died")


def leftovers(store: Store, truth: Truth) -> None:
    """Segments, two streams, and what crashes left: files that were sent and not acknowledged."""
    _landed(store, truth, range(9))
    land(store, [OF_OTHER[0]], OTHER)
    truth.send(OF_OTHER[:1])
    truth.acknowledge(OF_OTHER[:1])
    put_orphan(store, 20)
    put_orphan(store, 21, version=2)
    truth.send([20, 21])
    store.create(KEYS.under("_segments/1-000000000001-000000000002-0badcafe.json"), b"{}")


def no_manifest(store: Store, truth: Truth) -> None:
    leftovers(store, truth)
    store.delete(KEYS.manifest)


def no_metadata(store: Store, truth: Truth) -> None:
    leftovers(store, truth)
    for key in objects_in(store, ".json"):
        store.delete(key)


def _landed(store: Store, truth: Truth, numbers: Iterable[int], version: int = 1) -> None:
    known = list(numbers)
    land_each(store, known, version=version)
    truth.send(known)
    truth.acknowledge(known)
