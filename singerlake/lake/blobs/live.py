"""Which bytes are named by a record that nobody has forgotten, now and at earlier numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from singerlake.errors import CorruptFile
from singerlake.format.blob import Named
from singerlake.lake import schemas
from singerlake.lake.blobs.reference import Marks, said_of
from singerlake.lake.log import Selection
from singerlake.lake.snapshot import Snapshot


@dataclass
class _Span:
    """From the number of the record that names a path to that of the tombstone, if there is one."""

    first: int
    forgotten_at: int | None = None

    def holds(self, sequence: int) -> bool:
        return self.first <= sequence and (
            self.forgotten_at is None or sequence < self.forgotten_at
        )


@dataclass
class Live:
    """Paths by the records that name them. A tombstone ends what records with its key named before
    it; a record that comes later names anew.

    A tombstone says how many records it is about. So one that was committed beside it, or that a
    rebuild put before it because its time is older, is not taken for forgotten.
    """

    last_sequence: int = 0
    log_id: str = ""
    _spans: dict[str, dict[str, list[_Span]]] = field(default_factory=dict)
    _by_key: dict[str, set[str]] = field(default_factory=dict)

    def add(self, sequence: int, said: Named) -> None:
        if said.forgotten:
            for path in self._by_key.get(said.key, ()):
                spans = self._spans[path][said.key]
                count = len(spans) if said.counts is None else said.counts.get(path, 0)
                for span in spans[: max(count, 0)]:
                    if span.forgotten_at is None:
                        span.forgotten_at = sequence
            return
        named = self._by_key.setdefault(said.key, set())
        for path in set(said.paths.values()):
            named.add(path)
            self._spans.setdefault(path, {}).setdefault(said.key, []).append(_Span(sequence))

    def follow(self, snapshot: Snapshot, marks: Marks | None = None) -> None:
        """Take what was committed since the last look. Raises `CorruptFile`, `MissingFile`, where
        something cannot be read: then nobody knows what it names."""
        marks = marks or Marks()
        _require_known(snapshot, marks)
        for sequence, _, said in said_of(snapshot, Selection(since=self.last_sequence), marks):
            self.add(sequence, said)
        self.last_sequence, self.log_id = snapshot.last_sequence, snapshot.log_id

    def names(self, path: str, pinned: Iterable[int] = ()) -> bool:
        """Whether a record names it now, or did at one of these numbers."""
        spans = [span for some in self._spans.get(path, {}).values() for span in some]
        return any(span.forgotten_at is None for span in spans) or any(
            span.holds(number) for span in spans for number in pinned
        )

    def paths(self) -> set[str]:
        """All that records name now."""
        return {path for path in self._spans if self.names(path)}

    def counts(self, key: str) -> dict[str, int]:
        """How many records with this key have named each path, forgotten or not."""
        return {path: len(self._spans[path][key]) for path in self._by_key.get(key, ())}

    def names_at(self, path: str, key: str, sequence: int) -> bool:
        """Whether the record with this key and number still names it."""
        spans = self._spans.get(path, {}).get(key, ())
        return any(span.first == sequence and span.forgotten_at is None for span in spans)

    def others(self, path: str, keys: Collection[str]) -> bool:
        """Whether a record with another key than these names it now."""
        return any(
            span.forgotten_at is None
            for key, spans in self._spans.get(path, {}).items()
            if key not in keys
            for span in spans
        )


def live(snapshot: Snapshot, marks: Marks | None = None) -> Live:
    """What the whole log names. Reads every file whose schema has a mark, and no other."""
    found = Live()
    found.follow(snapshot, marks)
    return found


def _require_known(snapshot: Snapshot, marks: Marks) -> None:
    wanted = set(schemas.hashes(snapshot))
    marks.of(snapshot, wanted)
    unknown = {each for each in wanted if not marks.knows(snapshot.keys, each)}
    if unknown:
        raise CorruptFile(
            f"{snapshot.store.url}/{snapshot.keys.folder}: no file of the schema versions "
            f"{', '.join(sorted(unknown))} can be read, so that nobody knows which bytes they "
            "name; run `singerlake check` to see what is damaged"
        )
