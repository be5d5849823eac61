"""Logs that are begun anew, and go on where the older one is proven.

The new log has an id of its own: whoever has read further than both logs agree notices. What both
agree on keeps its numbers, and whoever has read up to there goes on as if nothing had happened
(docs/decisions/sequence-numbers.md).
"""

from __future__ import annotations

import uuid

import msgspec

from singerlake.format import continued
from singerlake.format.continued import Continued
from singerlake.format.manifest import Commit, Manifest


def begin_anew(manifest: Manifest, commit: Commit, up_to: int) -> Manifest:
    """The manifest in a new log, which continues the old one up to a number.

    Rows above it may stay: they are of the new log alone. Changes nothing else.
    """
    if not 0 <= up_to <= manifest.last_sequence:
        raise ValueError(f"a log of {manifest.last_sequence} numbers cannot continue {up_to}")
    older = (Continued(log_id=manifest.log_id, up_to=up_to), *manifest.continues)
    return msgspec.structs.replace(
        manifest,
        log_id=uuid.uuid4().hex,
        commit=commit,
        continues=continued.cut(older, up_to),
    )


def common(manifest: Manifest, log_id: str) -> int | None:
    """Up to which number those of a log mean the same here: None for all of them, in this log
    itself, and 0 for another log that this one does not continue."""
    if log_id == manifest.log_id:
        return None
    return max((one.up_to for one in manifest.continues if one.log_id == log_id), default=0)


def is_known(manifest: Manifest, log_id: str, sequence: int) -> bool:
    """Whether a number of a log means the same in this one."""
    up_to = common(manifest, log_id)
    return up_to is None or (up_to > 0 and sequence <= up_to)


def origin_log_id(manifest: Manifest, sequence: int) -> str:
    """The log under which this number was first given out: what is named by log and number keeps
    its name in a log that continues another."""
    return continued.origin(manifest.continues, sequence) or manifest.log_id
