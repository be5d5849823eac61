"""A bookmark: a place in a log, and its JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from singerlake.errors import StaleBookmark
from singerlake.format.document import Count


class Bookmark(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything up to `sequence` of this log has been read.

    `log_id` is "" before the stream has a log. `check` has eight digits that tell the commit under
    `sequence` from others: a manifest that was put back from a backup has another one there once
    it has grown past the bookmark. It is "lost" where no file bore the number any more, and ""
    where nothing says which file did. `revision` is the newest change of older rows that the
    reader knows; None for a reader that goes by sequence numbers alone, and gets no `Replaced`.

    The bookmark of a tap's runs is a place in the tap's run log; `sequence` is a row's number.
    """

    log_id: str
    sequence: Count
    check: str = ""
    revision: Count | None = None

    def to_json(self) -> dict[str, Any]:
        """As a STATE, a checkpoint or a table keeps it."""
        body: dict[str, Any] = msgspec.to_builtins(self)
        return body

    @staticmethod
    def parse(value: object) -> Bookmark:
        """The bookmark in a JSON object, whose other keys are passed over; also
        `{"log_id", "sequence"}`, as it was written before there were digits and revisions.

        Raises `StaleBookmark`.
        """
        try:
            return msgspec.convert(value, Bookmark)
        except (msgspec.ValidationError, RecursionError) as error:
            raise StaleBookmark(
                f"expected a bookmark such as {{'log_id': '…', 'sequence': 7}}, found {value!r} "
                f"({error}); read the stream whole once, without its bookmark (Meltano: "
                "--full-refresh)"
            ) from None


LOST = "lost"
"""The `check` of a number that no file bears any more."""

START = Bookmark("", 0)
"""Before everything, in a log that nobody knows yet."""
