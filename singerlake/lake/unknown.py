"""The errors for what a lake does not have: a tap, a stream, or a lake at all.

Each looks for the reason only once something is missing, so that a reader who finds all of it pays
no request.
"""

from __future__ import annotations

from collections.abc import Iterable

from singerlake.errors import (
    CorruptDocument,
    NotALake,
    SingerlakeError,
    UnknownStream,
    UnknownTap,
)
from singerlake.format import keys as key_names
from singerlake.format.lake_document import has_landed
from singerlake.format.nearest import did_you_mean
from singerlake.lake import registry
from singerlake.store import Store


def require_lake(store: Store) -> None:
    """Raises `NotALake`. A lake whose document cannot be read is one: check and rebuild mend it."""
    try:
        found = registry.read_lake_document(store) is not None or bool(registry.tap_ids(store))
    except CorruptDocument:
        return
    if not found:
        raise NotALake(
            f"{store.url}: expected a lake, found neither {key_names.LAKE_DOCUMENT} nor any tap "
            "below raw/; check the address, or land something there first"
        )


def require_tap(store: Store, tap_id: str) -> None:
    """Raises `UnknownTap`, `NotALake`, `MissingCommits` where it has vanished, or `CorruptDocument`
    where the lake document hides taps."""
    known = registry.tap_ids(store)
    if tap_id not in known:
        raise missing_tap(store, tap_id)
    if has_vanished(store, tap_id):
        raise _vanished(store, tap_id)
    hidden = set(registry.names_in(store, key_names.ROOT)) - set(known)
    if hidden:
        raise CorruptDocument(
            f"{store.url}/{key_names.LAKE_DOCUMENT}: it names {tap_id!r}, which has nothing, and "
            f"not {', '.join(map(repr, sorted(hidden)))}; `singerlake check --fix` adds what it "
            "does not name"
        )


def has_vanished(store: Store, tap_id: str) -> bool:
    """Of a tap that has no catalogue: whether it has had commits, as far as anything says so."""
    try:
        return has_landed(registry.read_lake_document(store), tap_id)
    except CorruptDocument:
        return False


def _vanished(store: Store, tap_id: str) -> SingerlakeError:
    from singerlake.lake import markers  # who finds all of it needs none of it

    return markers.vanished_tap(store, tap_id)


def missing_tap(store: Store, tap_id: str) -> SingerlakeError:
    """The error for a tap that is not there: `UnknownTap`, `NotALake`, or `MissingCommits`."""
    try:
        require_lake(store)
    except NotALake as error:
        return error
    if has_vanished(store, tap_id):
        return _vanished(store, tap_id)
    return unknown_tap(store.url, tap_id, _taps(store))


def missing_stream(store: Store, tap_id: str, stream: str, known: Iterable[str]) -> SingerlakeError:
    """The error for a stream that is not there: `UnknownStream`, or what is wrong above it.

    `known` are the streams in the tap's catalogue.
    """
    streams = list(known) or registry.names_in(store, key_names.tap_folder(tap_id))
    if not streams and (tap_id not in _taps(store) or has_vanished(store, tap_id)):
        return missing_tap(store, tap_id)
    return unknown_stream(store.url, stream, streams, tap_id)


def unknown_tap(url: str, tap_id: str, known: Iterable[str]) -> UnknownTap:
    return UnknownTap(f"{url}: no tap {tap_id!r} in this lake{_instead(tap_id, known)}")


def unknown_stream(
    url: str, stream: str, known: Iterable[str], tap_id: str | None = None
) -> UnknownStream:
    """Of a tap, or of the whole lake."""
    whose = "no" if tap_id is None else f"tap {tap_id!r} has no"
    return UnknownStream(f"{url}: {whose} stream {stream!r}{_instead(stream, known)}")


MOST_NAMES = 10
"""How many names an error lists."""


def _instead(name: str, known: Iterable[str]) -> str:
    """What to ask for: the name that was meant, or those that there are."""
    names = sorted(set(known) - {name})
    if meant := did_you_mean(name, names):
        return f".{meant}"
    if 0 < len(names) <= MOST_NAMES:
        return f"; there are {', '.join(names)}"
    return "; `singerlake ls` shows what there is"


def _taps(store: Store) -> set[str]:
    """Those of the lake document and those that have a folder."""
    listed = set(registry.names_in(store, key_names.ROOT))
    try:
        return listed.union(registry.tap_ids(store))
    except SingerlakeError:
        return listed
