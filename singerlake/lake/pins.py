"""Pins: states of the whole lake that have a name, each a small document in the lake.

The streams are read one after the other: each is at a state that it had, and all of them at one
moment only where nobody was writing. The runs that had not ended are noted for that.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime
from functools import partial

from singerlake.errors import (
    AlreadyExists,
    BadName,
    Changed,
    ConfigError,
    CorruptDocument,
    MissingFile,
    MissingManifest,
    NotFound,
    Pinned,
    StaleBookmark,
    StaleSnapshot,
)
from singerlake.format import keys as key_names
from singerlake.format import pin as documents
from singerlake.format import pin_keys
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Manifest
from singerlake.format.nearest import did_you_mean
from singerlake.format.pin import Pin, PinnedRuns, PinnedStream, UnendedRun
from singerlake.lake import clock, discovery, registry
from singerlake.lake import snapshot as snapshots
from singerlake.lake.commit import create_anew
from singerlake.lake.feed import position
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.ends import Ends
from singerlake.lake.feed.follower import Follower
from singerlake.lake.parallel import in_parallel
from singerlake.lake.runs import history
from singerlake.lake.snapshot import Snapshot
from singerlake.store import Store

NEWEST_RUNS = 100
"""Of a tap: among these, runs are looked for that have not ended."""

_BROKEN = (
    "what was pinned cannot be read any more: restore the manifest from a backup, or remove the "
    "pin by `singerlake unpin`"
)


def create(store: Store, name: str, until: datetime | None = None, by: str = "") -> Pin:
    """Pin the lake as it is now under a name that no pin has.

    Raises `ConfigError` where one has it, `MissingManifest` for a stream that has files and no
    manifest, and whatever reading a stream raises; then there is no pin.
    """
    key, now = key_names.pin(name), clock.now()
    if until is not None and until <= now:
        raise ConfigError(
            f"the pin {name!r} is to hold until {until:%Y-%m-%d %H:%M}, which has passed"
        )
    if find(store, name) is not None:
        raise _taken(store, name)
    # Before the streams: of a run that had ended by now, all commits are in what is pinned.
    ended = _ends_of_runs(store)
    streams = [
        StreamKeys(tap_id, stream)
        for tap_id in registry.tap_ids(store)
        for stream in sorted(discovery.catalogue_of(store, tap_id))
    ]
    taps: dict[str, dict[str, PinnedStream]] = {}
    for keys, place in zip(streams, in_parallel(partial(_place, store), streams), strict=True):
        if place is not None:
            taps.setdefault(keys.tap_id, {})[keys.stream] = place
    # Behind the streams: a run that ends in between has ended, and all that it committed counts.
    runs = tuple(run for tap_id in taps for run in _unended(store, tap_id))
    made = documents.new(
        name=name,
        id=uuid.uuid4().hex,
        created=now,
        by=by,
        until=until,
        taps=taps,
        runs=runs,
        run_logs=ended,
    )
    try:
        create_anew(store, key, documents.encode(made))
    except AlreadyExists:
        raise _taken(store, name) from None
    return made


def _place(store: Store, keys: StreamKeys) -> PinnedStream | None:
    """Where a stream ends; None where it has no commit."""
    found = snapshots.take(store, keys)
    if found.by_listing:
        raise MissingManifest(
            f"{store.url}/{keys.manifest}: missing, and without it nothing says which state of the "
            "stream to pin; nothing was pinned. Run `singerlake rebuild` first"
        )
    end = position.end_of(found)
    if not end.sequence:
        return None
    gone = _gone(found.manifest, end.sequence)
    return PinnedStream(
        log_id=end.log_id,
        sequence=end.sequence,
        check=end.check,
        gone=gone,
        revision=found.manifest.revision_number,
    )


def _ends_of_runs(store: Store) -> dict[str, PinnedRuns]:
    ends = Ends(Follower(store)).runs()
    return {
        tap_id: PinnedRuns(log_id=end.log_id, sequence=end.sequence, check=end.check)
        for tap_id, end in sorted(ends.items())
    }


def _gone(manifest: Manifest, until: int) -> int:
    """How many numbers up to this one no file bears any more."""
    return sum(
        max(min(gap.last_sequence, until) - gap.first_sequence + 1, 0) for gap in manifest.gaps
    )


def _unended(store: Store, tap_id: str) -> Iterator[UnendedRun]:
    for run in history.with_unended(store, tap_id, NEWEST_RUNS):
        if run.outcome == "open" or run.outcome == "lost":
            yield UnendedRun(
                tap_id=tap_id, run_id=run.run_id, writer_id=run.writer_id, outcome=run.outcome
            )


def find(store: Store, name: str) -> Pin | None:
    """The pin of this name, None where there is none. Raises `CorruptDocument`."""
    try:
        key = key_names.pin(name)
        data = store.read(key).data
    except (BadName, NotFound):
        return None
    where = f"{store.url}/{key}"
    found = documents.decode(data, where)
    if found.name != name:
        raise CorruptDocument(
            f"{where}: expected the pin {name!r}, found {found.name!r}; put it back where it "
            "belongs, or remove it by `singerlake unpin`"
        )
    return found


def read(store: Store, name: str) -> Pin:
    """Raises `ConfigError` where there is no such pin, and `CorruptDocument`."""
    found = find(store, name)
    if found is None:
        raise missing(store, name)
    return found


def names(store: Store) -> list[str]:
    """The names of the pins, damaged ones included: a listing."""
    listed = (key_names.parse(row.key) for row in store.list_folder(key_names.PINS, ""))
    return sorted(item.name for item in listed if isinstance(item, pin_keys.PinObject))


def read_each(store: Store) -> Iterator[tuple[str, Pin | CorruptDocument]]:
    """Each pin by name, or what is wrong with it."""

    def look(name: str) -> Pin | CorruptDocument | None:
        try:
            return find(store, name)
        except CorruptDocument as error:
            return error

    known = names(store)
    for name, found in zip(known, in_parallel(look, known), strict=True):
        if found is not None:
            yield name, found


def read_all(store: Store) -> list[Pin]:
    """The pins, by name. Raises `CorruptDocument`: nobody knows what a damaged one holds."""
    found: list[Pin] = []
    for _, one in read_each(store):
        if isinstance(one, CorruptDocument):
            raise one
        found.append(one)
    return found


def remove(store: Store, name: str) -> None:
    """Forget a pin, also a damaged one; no record is touched. Raises `ConfigError`."""
    try:
        key = key_names.pin(name)
        store.delete_if(key, store.version(key))
    except (BadName, Changed, NotFound):
        raise missing(store, name) from None


def missing(store: Store, name: str) -> ConfigError:
    """The error for a pin that is not there."""
    meant = did_you_mean(name, names(store))
    return ConfigError(f"{store.url}: no pin {name!r}; `singerlake pins` lists the pins.{meant}")


def _taken(store: Store, name: str) -> ConfigError:
    return ConfigError(
        f"{store.url}: there is a pin {name!r} already, and a pin does not change: choose another "
        "name, or remove that one by `singerlake unpin`"
    )


def cursor(pin: Pin) -> Cursor:
    """The place of a consumer that has read what was pinned, and nothing else."""
    return Cursor(
        {(tap, stream): _bookmark(place) for tap, stream, place in pin.streams()},
        {tap: Bookmark(end.log_id, end.sequence, end.check) for tap, end in pin.run_logs.items()},
    )


def _bookmark(place: PinnedStream) -> Bookmark:
    return Bookmark(place.log_id, place.sequence, place.check, place.revision)


def end_of(pin: Pin, snapshot: Snapshot) -> int:
    """The last number of a stream that is in the pin; 0 for a stream that came later.

    Raises `StaleBookmark` where the number stands for something else by now, and `MissingFile`
    where files were lost since: a read would give less than was pinned.
    """
    keys, manifest = snapshot.keys, snapshot.manifest
    place = pin.stream(keys.tap_id, keys.stream)
    if place is None:
        return 0
    try:
        position.require(snapshot, _bookmark(place), _BROKEN)
    except StaleBookmark as error:
        raise StaleBookmark(f"pin {pin.name!r}: {error}") from None
    lost = _gone(manifest, place.sequence) - place.gone
    if lost > 0:
        raise MissingFile(
            f"pin {pin.name!r}: stream {keys.stream!r} of {keys.tap_id!r} in {snapshot.store.url}: "
            f"{lost} of its files were lost since it was pinned; restore them, or read what is "
            f"left of that state as of the sequence number {place.sequence}"
        )
    return place.sequence


def problem(pin: Pin, snapshot: Snapshot) -> str | None:
    """Why a pin cannot be read in a stream any more; None where it can.

    A stream without a manifest may get one again: that is no problem of the pin. Nor is a damaged
    log, which has a finding of its own, or one that was replaced meanwhile.
    """
    try:
        end_of(pin, snapshot)
    except (MissingFile, StaleBookmark) as error:
        return str(error)
    except (CorruptDocument, MissingManifest, StaleSnapshot):
        return None
    return None


def broken(store: Store, keys: StreamKeys) -> list[str]:
    """The names of the pins that cannot be read any more in a stream; those that have expired,
    and damaged ones, are passed over."""
    held = [
        pin
        for _, pin in read_each(store)
        if isinstance(pin, Pin)
        and not pin.has_expired(clock.now())
        and pin.stream(keys.tap_id, keys.stream) is not None
    ]
    if not held:
        return []
    found = snapshots.take(store, keys)
    return [pin.name for pin in held if problem(pin, found)]


def require_unpinned(snapshot: Snapshot, first_sequence: int, last_sequence: int) -> None:
    """For whoever is about to delete records: raises `Pinned` where a pin reads some of these
    numbers, and `CorruptDocument` where nobody knows what a pin reads.

    A pin that has expired holds nothing, and so does one whose numbers are of another log.
    """
    now, store, keys = clock.now(), snapshot.store, snapshot.keys
    for pin in read_all(store):
        place = pin.stream(keys.tap_id, keys.stream)
        if place is None or pin.has_expired(now):
            continue
        if not snapshot.knows(place.log_id, place.sequence):
            continue
        if first_sequence <= place.sequence:
            last = min(last_sequence, place.sequence)
            until = "" if pin.until is None else f"wait until {pin.until:%Y-%m-%d %H:%M} UTC, or "
            raise Pinned(
                f"{store.url}: the pin {pin.name!r} reads the sequence numbers {first_sequence} to "
                f"{last} of stream {keys.stream!r} of {keys.tap_id!r}, so nothing of it may be "
                f"deleted; {until}remove the pin by `singerlake unpin`"
            )
