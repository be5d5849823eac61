"""Acceptance: the markers say what there is, once somebody has decided that nothing more will come.

Who rebuilds, or restores, has seen what is missing. From then on it is not expected any more.
"""

from __future__ import annotations

from collections.abc import Iterable

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys, TapObject
from singerlake.format.marker import Marker
from singerlake.lake import inventory, log, markers, registry
from singerlake.lake.finding import Finding
from singerlake.lake.inventory import Inventory
from singerlake.store import Store


def accept(
    store: Store,
    found: Inventory,
    tap_id: str | None,
    stream: str | None,
    missing: Iterable[Finding],
) -> None:
    """Have the markers of the lake, of one tap, or of one stream of a tap say what is there.

    `missing` is what a look at the markers has found.
    """
    for tap in sorted(found.tap_ids() | ({tap_id} if tap_id is not None else set())):
        entries = registry.read_catalogue(store, tap) or {}
        names = [name for name in entries if stream in (None, name)]
        ends = {name: _end(store, StreamKeys(tap, name)) for name in names}
        readable = {name: end for name, end in ends.items() if not isinstance(end, CorruptDocument)}
        markers.settle(store, tap, readable)
    for finding in missing:
        if finding.code == "tap-missing":
            _accept_tap(store, finding.key)


def _accept_tap(store: Store, key: str) -> None:
    """A tap that is gone has no commits any more; one that came back lost those of before."""
    tap = key_names.parse(key)
    if isinstance(tap, TapObject):
        landed = {} if inventory.take(store, tap.tap_id).streams else {"landed": None}
        registry.note(store, tap.tap_id, vanished=None, **landed)


def _end(store: Store, keys: StreamKeys) -> Marker | CorruptDocument | None:
    try:
        return markers.of_manifest(log.read_head(store, keys).manifest)
    except NotFound:
        return None
    except CorruptDocument as error:
        return error
