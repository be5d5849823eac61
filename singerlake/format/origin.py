"""Who wrote a file: kept in its gzip header, so that the file alone can tell.

It also makes the bytes of every written file unique, and so its name, which has digits of their
hash.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from singerlake.errors import BadName
from singerlake.format import keys


@dataclass(frozen=True)
class Origin:
    """The writer, its run, and the number of the file within that writer.

    `zeros` stand before the number: the same origin in other bytes.
    """

    writer_id: str
    run_id: str
    number: int
    zeros: int = 0

    def __str__(self) -> str:
        number = f"{'0' * self.zeros}{self.number}"
        return f"{keys.escape(self.writer_id)}/{keys.escape(self.run_id)}/{number}"

    def in_other_bytes(self) -> Origin:
        """For a file whose name another has already."""
        return dataclasses.replace(self, zeros=self.zeros + 1)

    @staticmethod
    def parse(text: str) -> Origin | None:
        """The origin, or None where the text is something else: another tool's file name."""
        try:
            writer, run, number = text.split("/")
            zeros = len(number) - len(str(int(number)))
            return Origin(keys.unescape(writer), keys.unescape(run), int(number), zeros)
        except (ValueError, BadName):
            return None
