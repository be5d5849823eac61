"""What was made of a stream: replays and projections, as the lake document notes them.

    "lineage": {"<tap>": {"<stream>": [{"kind": "projection", "name": "s3://…", …}]}}

Jobs note themselves where lineage is on and they may write. It is a note for people and for the
pages: no promise hangs on it, and what cannot be read is passed over.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from singerlake.format import times
from singerlake.format.document import Count, Moment

FIELD = "lineage"

MOST = 20
"""Consumers of a stream that are kept, the newest."""

LONGEST = 300

Kind = Literal["replay", "projection"]


class Consumer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job that reads a stream: up to `sequence` of `log_id`, the last time at `seen`."""

    kind: Kind
    name: str
    detail: str = ""
    log_id: str = ""
    sequence: Count = 0
    seen: Moment

    @property
    def identity(self) -> tuple[str, str]:
        return self.kind, self.name


def of_stream(body: Mapping[str, Any], tap: str, stream: str) -> tuple[Consumer, ...]:
    """The consumers that a lake document names, the newest first."""
    found: object = body
    for name in (FIELD, tap, stream):
        found = found.get(name) if isinstance(found, Mapping) else None
    rows = found if isinstance(found, list) else []
    known = [consumer for row in rows if (consumer := _parsed(row)) is not None]
    return tuple(sorted(known, key=lambda one: one.seen, reverse=True))


def with_consumers(
    body: dict[str, Any], tap: str, consumers: Mapping[str, Consumer]
) -> dict[str, Any]:
    """The document with these consumers, by stream, in place of what they noted before."""
    changed = copy.deepcopy(body)
    notes = changed.get(FIELD)
    notes = changed[FIELD] = notes if isinstance(notes, dict) else {}
    of_tap = notes.get(tap)
    of_tap = notes[tap] = of_tap if isinstance(of_tap, dict) else {}
    for stream, consumer in consumers.items():
        before = of_stream(body, tap, stream)
        others = [one for one in before if one.identity != consumer.identity]
        of_tap[stream] = [msgspec.to_builtins(one) for one in [consumer, *others][:MOST]]
    return changed


def consumer(
    kind: Kind, name: str, detail: str, log_id: str, sequence: int, seen: datetime
) -> Consumer:
    return Consumer(
        kind=kind,
        name=name[:LONGEST],
        detail=detail[:LONGEST],
        log_id=log_id,
        sequence=sequence,
        seen=times.in_utc(seen),
    )


def _parsed(row: object) -> Consumer | None:
    try:
        return msgspec.convert(row, Consumer)
    except (msgspec.ValidationError, RecursionError):
        return None
