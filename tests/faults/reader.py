"""Who follows a stream as the tap does: from the bookmark that the last run ended with."""

from __future__ import annotations

from dataclasses import dataclass, field

from singerlake.errors import StaleBookmark
from singerlake.lake import Bookmark, Stream
from tests.faults.reference import require_same


@dataclass
class Reader:
    """What it has read since it last began, and where it stands."""

    numbers: list[int] = field(default_factory=list)
    bookmark: Bookmark | None = None

    def follow(self, stream: Stream, there: list[int]) -> None:
        """Read what is new, or all where the bookmark is refused: it has each record once then."""
        try:
            increment = stream.increment(self.bookmark)
        except StaleBookmark:
            self.numbers, self.bookmark = [], None
            increment = stream.increment()
        rows = increment.snapshot.records(increment.selection)
        self.numbers += [row["id"] for row in rows]
        self.bookmark = increment.until
        require_same(sorted(self.numbers), sorted(there))
