"""Markers: what a lake knows to exist, held against what is there.

A catalogue says of each stream how far its log had come at the end of a run, and the lake document
of each tap that it has commits. So a folder that was deleted, and an older manifest that was put
back, are seen. Docs: docs/decisions/markers.md.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from singerlake.errors import (
    Changed,
    CorruptDocument,
    MissingCommits,
    NotFound,
    OutcomeUnknown,
    SingerlakeError,
)
from singerlake.format import catalogue, marker
from singerlake.format import keys as key_names
from singerlake.format.catalogue import Entry
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Manifest
from singerlake.format.marker import Marker
from singerlake.lake import clock, continuation, log, registry
from singerlake.lake.registry import Catalogue
from singerlake.lake.snapshot import Snapshot
from singerlake.store import Store

logger = logging.getLogger(__name__)

TRIES = 3
"""How often a marker is tried: an older one does no harm."""


@dataclass
class Known:
    """What a writer knows of its tap's documents since it registered its streams there.

    `new` are the streams that were in no catalogue before.
    """

    catalogue: Catalogue | None = None
    has_landed: bool = False
    new: frozenset[str] = frozenset()

    def marker(self, stream: str) -> Marker | None:
        return None if self.catalogue is None else marker.of(self.catalogue.entries.get(stream))


def advance(
    store: Store, tap_id: str, reached: Mapping[str, Marker], known: Known | None = None
) -> None:
    """Move the tap's markers forward, at the end of a run: one PUT, where nobody else changed the
    catalogue. What fails is not worth a run: the next one moves them.
    """
    if not reached:
        return
    known = known or Known()
    try:
        if not known.has_landed:
            # Before the first marker: whoever finds a tap's markers finds that it has landed.
            registry.note(store, tap_id, landed=clock.now())
        if not _advance(store, tap_id, reached, known.catalogue):
            logger.debug("Others kept changing the catalogue of %s: its markers stay", tap_id)
    except SingerlakeError as error:
        logger.warning(
            "The run has its document, but the markers in %s/%s stay where they were (%s); the "
            "next run of the tap moves them",
            store.url,
            key_names.catalogue(tap_id),
            error,
        )


def _advance(
    store: Store, tap_id: str, reached: Mapping[str, Marker], known: Catalogue | None
) -> bool:
    """Whether the markers are where they belong."""
    key = key_names.catalogue(tap_id)
    for _ in range(TRIES):
        known = known or registry.find_catalogue(store, tap_id)
        if known is None:
            return True  # somebody deleted it, and nothing but a rebuild makes it again
        changed = known.entries | {
            name: marker.marked(entry, _moved(store, tap_id, name, entry, reached[name]))
            for name, entry in known.entries.items()
            if name in reached
        }
        if changed == known.entries:
            return True
        try:
            store.replace(key, catalogue.encode(tap_id, changed.values()), known.version)
            return True
        except (Changed, OutcomeUnknown):
            known = None
    return False


def _moved(store: Store, tap_id: str, name: str, entry: Entry, reached: Marker) -> Marker | None:
    """Where an entry's marker belongs. A first one asks the manifest, because nobody settled it
    where a rebuild began another log under the run."""
    known = marker.of(entry)
    if known is not None:
        return marker.moved(known, reached)
    try:
        manifest = log.read_head(store, StreamKeys(tap_id, name)).manifest
    except (NotFound, CorruptDocument):
        return reached  # so that a check tells what is gone
    up_to = continuation.common(manifest, reached.log_id)
    if up_to is None:
        return reached
    return Marker(manifest.log_id, reached.sequence) if reached.sequence <= up_to else None


def settle(store: Store, tap_id: str, reached: Mapping[str, Marker | None]) -> None:
    """Have each marker that there is say what is there, whatever it said before: for who has mended
    a log, or accepts that a stream is gone (None)."""

    def change(known: dict[str, Entry]) -> dict[str, Entry]:
        return known | {
            name: marker.marked(known[name], at)
            for name, at in reached.items()
            if marker.of(known.get(name)) is not None
        }

    if registry.read_catalogue(store, tap_id) is not None:
        registry.change_catalogue(store, tap_id, change)


def settle_where_reached(store: Store, keys: StreamKeys) -> None:
    """For a log that was mended. Where it lacks commits that are known, its marker stays: somebody
    has to see that."""
    known = marker.of((registry.read_catalogue(store, keys.tap_id) or {}).get(keys.stream))
    end = of_manifest(log.read_head(store, keys).manifest)
    if known is not None and end is not None and end.sequence >= known.sequence:
        settle(store, keys.tap_id, {keys.stream: end})


def of_manifest(manifest: Manifest) -> Marker | None:
    """Where a log ends; None for an empty one."""
    end = Marker(manifest.log_id, manifest.last_sequence)
    return end if end.log_id and end.sequence else None


def shortage(manifest: Manifest, known: Marker | None) -> str:
    """What a log lacks of what is known; "" where it lacks nothing."""
    if known is None:
        return ""
    up_to = continuation.common(manifest, known.log_id)
    end = manifest.last_sequence if up_to is None else up_to
    if end >= known.sequence:
        return ""
    if up_to is None:
        return _older(end, known)
    there = f"which continues it up to {up_to} only" if up_to else "which continues none of it"
    return (
        f"expected the log {known.log_id}, which is known to have reached sequence "
        f"{known.sequence}, found another, {manifest.log_id}, {there}"
    )


def _older(end: int, known: Marker) -> str:
    return (
        f"expected a log up to sequence {known.sequence} or more, found that it ends at {end}: an "
        "older manifest was put in its place"
    )


def require(snapshot: Snapshot, entry: Entry) -> None:
    """Raises `MissingCommits` where a log is shorter than its catalog entry says, which was read
    before it."""
    lacks, keys = shortage(snapshot.manifest, marker.of(entry)), snapshot.keys
    if lacks:
        raise MissingCommits(f"{snapshot.store.url}/{keys.manifest}: {lacks}. {remedy(keys)}")


def require_writable(store: Store, keys: StreamKeys, end: Marker, known: Marker | None) -> None:
    """Raises `MissingCommits` where a commit to a log that ends there would give a number again
    that readers know."""
    if known is not None and known.log_id == end.log_id and end.sequence < known.sequence:
        raise MissingCommits(
            f"{store.url}/{keys.manifest}: {_older(end.sequence, known)}. Nothing was committed: "
            f"readers would pass over it. {remedy(keys)}"
        )


def vanished_stream(store: Store, keys: StreamKeys, at: Marker) -> MissingCommits:
    return MissingCommits(f"{store.url}/{keys.folder}: {gone(at)}. {remedy(keys)}")


def gone(at: Marker) -> str:
    return (
        f"the catalogue knows of commits up to sequence {at.sequence} (log {at.log_id}), and there "
        "is neither a manifest nor a file: the stream's folder was deleted, or was never copied"
    )


def vanished_tap(store: Store, tap_id: str) -> MissingCommits:
    folder = key_names.tap_folder(tap_id)
    return MissingCommits(f"{store.url}/{folder}: {TAP_GONE}. {remedy(tap_id)}")


TAP_GONE = (
    "the lake document knows of commits of this tap, and nothing of them is there: its folder was "
    "deleted, or was never copied"
)


def tap_was_gone(since: str) -> str:
    return (
        "the lake document knows of commits of this tap, and a run that began at "
        f"{since} found nothing of them: what is there came after that"
    )


def remedy(what: StreamKeys | str) -> str:
    """What to do, for a stream or a tap."""
    names = what if isinstance(what, str) else f"{what.tap_id} {what.stream}"
    return (
        "Put back what is missing from a backup, if you have one; then `singerlake restore ROOT "
        f"{names} --apply` accepts what there is, and readers go on"
    )
