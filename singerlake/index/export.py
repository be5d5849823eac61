"""Everything that an index has, in an order that does not depend on how it came there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from singerlake.index.entry import Entry
from singerlake.index.storage.base import Lack, Storage


def export_lines(storage: Storage) -> Iterator[bytes]:
    """JSON, an object on a line: each stream's entries and gaps in the order of its log, then the
    runs that ended, then uploads.

    Two indexes of a lake that have read the same have equal lines.
    """
    for tap, stream in storage.streams():
        for entry in storage.entries(tap, stream):
            yield _line("entry", entry)
        for lack in joined(storage.lacks(tap, stream)):
            yield _line("gap", lack)
    for run in storage.runs():
        yield _line("run", run)
    for upload in storage.uploads():
        yield _line("upload", upload)


def joined(lacks: Iterable[Lack]) -> list[Lack]:
    """Gaps that follow each other for one reason are one."""
    found: list[Lack] = []
    for lack in lacks:
        before = found[-1] if found else None
        if (
            before is not None
            and before.last_sequence + 1 == lack.first_sequence
            and (before.reason, before.time) == (lack.reason, lack.time)
        ):
            found[-1] = msgspec.structs.replace(before, last_sequence=lack.last_sequence)
        else:
            found.append(lack)
    return found


def _line(kind: str, value: msgspec.Struct) -> bytes:
    body: dict[str, Any] = {"kind": kind, **msgspec.to_builtins(value)}
    return json.dumps(body, separators=(",", ":"), sort_keys=True).encode("ascii") + b"\n"


def export_entries(storage: Storage) -> Iterator[Entry]:
    """Every entry of the lake in order, for a table of them."""
    for tap, stream in storage.streams():
        yield from storage.entries(tap, stream)
