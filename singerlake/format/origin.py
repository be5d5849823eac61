"""Who wrote a file: kept in its gzip header, so that the file alone can tell.

It also makes the bytes of every written file unique, which lets a writer know its own upload
again when the store's answer was lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from singerlake.errors import BadName
from singerlake.format import keys


@dataclass(frozen=True)
class Origin:
    """The writer, its run, and the number of the file within that writer."""

    writer_id: str
    run_id: str
    number: int

    def __str__(self) -> str:
        return f"{keys.escape(self.writer_id)}/{keys.escape(self.run_id)}/{self.number}"

    @staticmethod
    def parse(text: str) -> Origin | None:
        """The origin, or None where the text is something else: another tool's file name."""
        try:
            writer, run, number = text.split("/")
            return Origin(keys.unescape(writer), keys.unescape(run), int(number))
        except (ValueError, BadName):
            return None
