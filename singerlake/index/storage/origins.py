"""Which log gave out which numbers of a stream, as one text for a column.

Nearly always one log did: then the text is its id. Where the log goes on from others, their ids
follow, the newest first, each with the last number that it gave out: `<id> <older id>:<number> …`.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=10_000)
def origin(text: str, sequence: int) -> str:
    """The id of the log that gave a number out."""
    newest, _, rest = text.partition(" ")
    for older in reversed(rest.split()):
        log_id, _, last = older.partition(":")
        if sequence <= int(last):
            return log_id
    return newest


def grown(text: str, log_id: str, first: int) -> str:
    """The text where the numbers from one on are of a log; those before stay as they are."""
    newest, _, rest = text.partition(" ")
    if newest in ("", log_id):
        return f"{log_id} {rest}".rstrip()
    return f"{log_id} {newest}:{first - 1} {rest}".rstrip()
