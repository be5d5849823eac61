"""The search's index, as a script: a page opened from a folder may run one, and fetch nothing.

    window.singerlakeIndex = {
      "properties": ["id", "name", …],
      "streams": [[tap, stream, page, description, [0, 1, …]], …],
      "taps": [[tap, page, description], …]
    };

Names of properties repeat from stream to stream, so each is written once, and streams have numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from singerlake.site.words import visible

LONGEST = 200
"""Characters of a name or a description that can be found."""


@dataclass
class SearchIndex:
    """Grows stream by stream."""

    _taps: list[list[Any]] = field(default_factory=list)
    _streams: list[list[Any]] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add_tap(self, tap_id: str, page: str, description: str) -> None:
        self._taps.append([_short(tap_id), page, _short(description)])

    def add_stream(
        self, tap_id: str, name: str, page: str, description: str, properties: Iterable[str]
    ) -> None:
        numbers = [self._numbers.setdefault(_short(one), len(self._numbers)) for one in properties]
        self._streams.append([_short(tap_id), _short(name), page, _short(description), numbers])

    def script(self) -> bytes:
        """In ASCII: whatever a name holds is no more than a string in it."""
        index = {
            "properties": list(self._numbers),
            "streams": self._streams,
            "taps": self._taps,
        }
        text = json.dumps(index, separators=(",", ":"))
        return f"window.singerlakeIndex={text};\n".encode("ascii")


def _short(text: str) -> str:
    return visible(text[:LONGEST])
