"""A consumer of the feed that keeps its table and its bookmarks together, and what it must see."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field

from singerlake.errors import CorruptDocument, NotFound, SingerlakeError
from singerlake.format.continued import Continued
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import Snapshot, log, registry
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.cursor import Cursor, StreamKey
from singerlake.lake.feed.event import (
    Committed,
    Event,
    Failed,
    Lost,
    Renumbered,
    Replaced,
    RunEnded,
)
from singerlake.lake.feed.run_end import check_of
from singerlake.lake.provenance import committed_rows
from singerlake.lake.runs import log as run_logs
from singerlake.store import Store
from tests.faults.truth import Violation

LOST = "lost"


@dataclass
class Place:
    """What the consumer keeps of one stream, or of a tap's runs: one row of its table each."""

    bookmark: Bookmark = START
    holders: dict[int, str] = field(default_factory=dict)
    digits: dict[int, str] = field(default_factory=dict)
    """Of the file that was read under each number, or `LOST`; or of the run."""

    failed: str = ""
    is_stale: bool = False
    """Whether an event has said so, and none has moved the bookmark since."""


@dataclass
class Consumer:
    """All that it stores. Each event changes it at once, the bookmark with the effect."""

    store: Store
    places: dict[StreamKey, Place] = field(default_factory=dict)
    is_sound: bool = True
    """False from a violation on."""

    def cursor(self) -> Cursor:
        """As it would read it from its table, by way of bytes."""
        streams = {key: place.bookmark for key, place in self.places.items() if key[1]}
        runs = {tap: place.bookmark for (tap, stream), place in self.places.items() if not stream}
        return Cursor.decode(Cursor(streams, runs).encode())

    def copy(self) -> Consumer:
        return Consumer(self.store, copy.deepcopy(self.places))

    def at(self, tap: str, stream: str = "") -> Place:
        return self.places.setdefault((tap, stream), Place())

    def apply(self, event: Event) -> None:
        """Raises `Violation` where the event cannot follow what came before."""
        self.is_sound = False
        place = self.at(event.tap, event.stream)
        match event:
            case Committed():
                self._require_log(place, event)
                _follow(place, event)
                place.holders |= _held(event.files, event.first_sequence, event.last_sequence)
                place.digits |= {file.sequence: file.check for file in event.files}
            case Lost():
                self._require_log(place, event)
                _lose(place, event)
            case Replaced():
                self._require_log(place, event)
                _require_same_place(place, event)
                for number in range(event.first_sequence, event.last_sequence + 1):
                    place.holders.pop(number, None)
                place.holders |= _held(event.files, event.first_sequence, event.last_sequence)
            case Renumbered():
                _renumber(place, event)
            case RunEnded():
                _follow_runs(place, event)
                place.digits[event.bookmark.sequence] = event.bookmark.check
                self._require_commits(event)
            case Failed():
                if event.bookmark != place.bookmark:
                    raise Violation(f"BACK {event}, the consumer is at {place.bookmark}")
        place.bookmark = event.bookmark
        place.failed = event.kind if isinstance(event, Failed) else ""
        # A tap's place hears of its catalogue too.
        place.is_stale = place.failed == "StaleBookmark" or (place.failed != "" and place.is_stale)
        self.is_sound = True

    def _require_log(self, place: Place, event: Event) -> None:
        """The log is the one that was read, or one in which all that was read is what it was."""
        before = place.bookmark
        if before.log_id in ("", event.bookmark.log_id):
            return
        truth = read(self.store, StreamKeys(event.tap, event.stream))
        if truth is None or truth.log_id != event.bookmark.log_id:
            raise Violation(f"ORDER {event}: of another log than {before}")
        truth.require_continued(place, event)

    def _require_commits(self, event: RunEnded) -> None:
        """The commits that a run names have come, where its streams can be read."""
        for stream, left in event.streams.items():
            if (truth := read(self.store, StreamKeys(event.tap, stream))) is None:
                continue
            if truth.log_id != left.log_id or truth.last_sequence < left.last_sequence:
                continue  # renumbered since, or an older manifest was put back
            place = self.places.get((event.tap, stream), Place())
            is_there = place.bookmark.log_id == left.log_id
            at = place.bookmark.sequence if is_there else 0
            if at < left.last_sequence and not (is_there and truth.is_another(place)):
                raise Violation(f"EARLY {event.run_id} ended before its commits in {stream!r}")

    def require_all(self, taps: Iterable[str], streams: Iterable[StreamKeys]) -> None:
        """Nothing is left to read: all is as the lake has it."""
        self.is_sound = False
        for keys in streams:
            truth, place = read(self.store, keys), self.places.get((keys.tap_id, keys.stream))
            # Nobody finds a stream that no document names: a rebuild knows none without files.
            if truth is not None and (place or is_named(self.store, keys.tap_id, keys.stream)):
                truth.require(keys, place or Place())
        for tap in taps:
            if (tap, "") in self.places or is_named(self.store, tap):
                self._require_runs(tap)
        self.is_sound = True

    def _require_runs(self, tap: str) -> None:
        keys = RunKeys(tap)
        try:
            there = run_logs.read_head(self.store, keys).log
            digits = {row.number: check_of(row) for row in run_logs.rows(self.store, keys, there)}
        except (NotFound, CorruptDocument):
            return
        place = self.places.get((tap, ""), Place())
        at = place.bookmark
        is_there = at.log_id == there.log_id and at.sequence > 0
        if is_there and digits.get(at.sequence) != place.digits[at.sequence]:
            if not place.is_stale:
                raise Violation(f"MISLED runs of {tap}: at {at}, the log has {digits}")
        elif (at.log_id, at.sequence) != (there.log_id, there.last_number):
            raise Violation(f"MISSED runs of {tap}: {place}, the log ends at {there.last_number}")


def _follow(place: Place, event: Committed) -> None:
    """The next numbers, and a file for each of them."""
    _require_next(place, event.first_sequence, event)
    covered = [n for file in event.files for n in range(file.lowest_sequence, file.sequence + 1)]
    if covered != list(range(event.first_sequence, event.bookmark.sequence + 1)):
        raise Violation(f"ORDER {event}: its files have {covered}")


def _lose(place: Place, event: Lost) -> None:
    numbers = range(event.first_sequence, event.last_sequence + 1)
    if not numbers:
        raise Violation(f"ORDER {event}: no numbers")
    if event.bookmark.sequence == place.bookmark.sequence:
        _require_same_place(place, event)
    else:
        _require_next(place, event.first_sequence, event)
        place.digits |= dict.fromkeys(numbers, LOST)
    for number in numbers:
        place.holders.pop(number, None)


def _require_next(place: Place, first: int, event: Event) -> None:
    wanted = place.bookmark.sequence + 1
    if first != wanted:
        kind = "TWICE" if first < wanted else "MISSED"
        raise Violation(f"{kind} {event}: {wanted} was next")


def _require_same_place(place: Place, event: Replaced | Lost) -> None:
    before, after = place.bookmark, event.bookmark
    if before.sequence != after.sequence:
        raise Violation(f"BACK {event}, the consumer is at {before}")
    if event.last_sequence > before.sequence:
        raise Violation(f"ORDER {event}: not read yet")


def _renumber(place: Place, event: Renumbered) -> None:
    if place.bookmark.log_id != event.old_log_id or event.bookmark.sequence:
        raise Violation(f"BACK {event}, the consumer is at {place.bookmark}")
    place.holders, place.digits = {}, {}


def _follow_runs(place: Place, event: RunEnded) -> None:
    if place.bookmark.log_id not in ("", event.bookmark.log_id):
        raise Violation(f"ORDER {event}: of another log than {place.bookmark}")
    _require_next(place, event.bookmark.sequence, event)


def _held(files: tuple[File, ...], first: int, last: int) -> dict[int, str]:
    """The path that holds each number of a range."""
    return {
        number: file.path
        for file in files
        for number in range(max(file.lowest_sequence, first), min(file.sequence, last) + 1)
    }


@dataclass(frozen=True)
class Reading:
    """A stream as its manifest has it."""

    log_id: str
    last_sequence: int
    holders: dict[int, str]
    digits: dict[int, str]
    lost: dict[int, str]
    """The digits of files that are gone, as far as the gaps have them."""

    continued: tuple[Continued, ...] = ()

    def require(self, keys: StreamKeys, place: Place) -> None:
        """Raises `Violation` where a consumer that has read all is elsewhere."""
        at = place.bookmark
        if at.log_id != self.log_id and at.sequence and at.sequence <= self.continues(at.log_id):
            self.require_continued(place, keys)
        elif at.log_id != self.log_id:
            if self.last_sequence or at.log_id:
                raise Violation(f"MISSED {keys}: at {at}, the log is {self.log_id}")
            return
        if self.is_another(place):
            if place.failed != "StaleBookmark":
                raise Violation(f"MISLED {keys}: at {at}, which is {place.digits[at.sequence]}")
        elif at.sequence != self.last_sequence:
            raise Violation(f"MISSED {keys}: at {at}, the log ends at {self.last_sequence}")
        elif place.holders != self.holders:
            raise Violation(f"WRONG {keys}: {place.holders}, expected {self.holders}")

    def continues(self, log_id: str) -> int:
        """Up to which number it goes on from an older log; 0 where it does not."""
        return max((one.up_to for one in self.continued if one.log_id == log_id), default=0)

    def require_continued(self, place: Place, what: object) -> None:
        """Raises `Violation` where a number that was read in an older log is another commit here,
        or behind what both have. Digits decide, and not what the log says of itself."""
        at = place.bookmark
        if at.sequence > self.continues(at.log_id):
            raise Violation(f"ORDER {what}: of another log than {at}")
        for number, read in place.digits.items():
            if LOST not in (read, here := self.digits.get(number, LOST)) and read != here:
                raise Violation(f"CLAIMED {what}: {number} was {read}, and is {here} in this log")

    def is_another(self, place: Place) -> bool:
        """Whether the numbers up to the bookmark were given again."""
        at = place.bookmark.sequence
        if at > self.last_sequence:
            return True
        if at in self.lost:
            return place.digits[at] not in (LOST, self.lost[at])
        return at in self.digits and self.digits[at] != place.digits[at]


def is_named(store: Store, tap: str, stream: str = "") -> bool:
    """Whether the tap, and its stream, can be found: by listing, where a document is gone."""
    try:
        registry.read_lake_document(store)
        known = registry.read_catalogue(store, tap)
    except CorruptDocument:
        return False
    return not stream or known is None or stream in known


def read(store: Store, keys: StreamKeys) -> Reading | None:
    """The stream, read without a feed; None where it is not there, or damaged."""
    try:
        manifest = log.read_head(store, keys).manifest
        files = list(Snapshot(store, keys, manifest).files())
        digits = {
            row.sequence: row.check
            for row in committed_rows(store, keys, files, strict=True)
            if row.merge is None
        }
    except SingerlakeError:
        return None
    held = _held(tuple(files), 1, manifest.last_sequence)
    lost = {gap.last_sequence: gap.check for gap in manifest.gaps if gap.check}
    return Reading(manifest.log_id, manifest.last_sequence, held, digits, lost, manifest.continues)
