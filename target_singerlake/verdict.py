"""How a run ended, as honestly as a target can say.

A target sees the end of its input, and not how the tap ended: a tap that died and a tap that
finished look the same. So `complete` needs the tap's exit code, which `singerlake land` reports, or
a STATE that covers everything. docs/decisions/runs.md says why, and which risk remains.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from singerlake.errors import InputError, SingerlakeError
from singerlake.format.run import Outcome
from target_singerlake.tap_exit import TapExit

_DESCRIBE = frozenset(
    {"context", "last_replication_method", "partitions", "replication_method", "version"}
)
"""Fields of a bookmark that say how a stream is read, and not from where. The SDK has a bookmark
for each parent of a stream, in `partitions`; `context` says which parent."""


@dataclass(frozen=True)
class Verdict:
    """An outcome, and why it is not another."""

    outcome: Outcome
    reason: str = ""


def of_failure(error: BaseException) -> Verdict:
    """The target could not go on. Messages about the input may quote records: only their kind
    is kept."""
    kind = type(error).__name__
    if isinstance(error, SingerlakeError) and not isinstance(error, InputError):
        return Verdict("failed", f"{kind}: {error}")
    return Verdict("failed", kind)


def of_signal(number: int) -> Verdict:
    return Verdict("stopped", f"signal {number}")


def of_end(state: bytes | None, covered: bool, tap: TapExit, without_state: bool) -> Verdict:
    """The input ended, and everything is committed.

    `state` is the last STATE that came, `covered` says that no message to be stored came after it.
    """
    if tap.code is not None:
        return _of_exit(tap.code)
    if tap.expected:
        return Verdict("ended", "singerlake land ended before it saw the tap's exit code")
    if state is None:
        if without_state:
            return Verdict("complete")
        return Verdict("ended", "no STATE came: nothing shows that the tap had finished")
    if not covered:
        return Verdict("ended", "messages came after the last STATE")
    told = _parsed(state)
    if told is None:
        return Verdict("ended", "the last STATE cannot be read: nothing shows what it covers")
    if syncing := told.get("currently_syncing"):
        return Verdict("ended", f"the last STATE has currently_syncing: {str(syncing)[:100]}")
    return Verdict("complete")


def _of_exit(code: int) -> Verdict:
    if code == 0:
        return Verdict("complete")
    if code < 0:
        return Verdict("failed", f"signal {-code} ended the tap")
    return Verdict("failed", f"the tap ended with exit code {code}")


def bookmarks(state: bytes | None, streams: Iterable[str]) -> dict[str, bool]:
    """Of which streams the STATE holds a bookmark; a stream that it does not name is left out.

    Some taps name a stream in the STATE as `<database>-<stream>`.
    """
    held = (_parsed(state) or {}).get("bookmarks")
    if not isinstance(held, dict):
        return {}
    known = set(streams)
    names: dict[str, list[str]] = {}
    for name in held:
        ends = [stream for stream in known if name.endswith(f"-{stream}")]
        if ends and name not in known:
            names.setdefault(max(ends, key=len), []).append(name)
    names |= {name: [name] for name in held if name in known}
    return {
        stream: _says_from_where(held[one[0]]) for stream, one in names.items() if len(one) == 1
    }


def _says_from_where(bookmark: Any) -> bool:
    if not isinstance(bookmark, dict):
        return bookmark is not None
    if bookmark.get("last_replication_method") == "FULL_TABLE":
        return False
    parts = bookmark.get("partitions")
    if isinstance(parts, list) and any(map(_says_from_where, parts)):
        return True
    told = [value for name, value in bookmark.items() if name not in _DESCRIBE]
    return any(value not in (None, {}, []) for value in told)


def _parsed(state: bytes | None) -> dict[str, Any] | None:
    """The STATE; None where Python cannot read it, as where it is nested without end."""
    try:
        # Python makes no integer of more than 4300 digits.
        value = json.loads(state or b"{}", parse_int=str)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else {}
