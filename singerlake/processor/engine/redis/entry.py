"""Entries of queues and answers of scripts, parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from singerlake.processor.engine.values import (
    DeadLetter,
    Entry,
    Grant,
    Item,
    KeyState,
    Status,
    until_a_moment,
)

FIELDS = [*"toswphlgznfqcukvrex"]
"""In the order of `FIELDS` in common.lua."""


def tail(item: Item) -> bytes:
    """An item as the scripts take it: `S or -|id|source` and the value on the next line."""
    head = f"{'S' if item.start else '-'}|{item.id}|{item.source}\n"
    return head.encode("utf-8", "surrogatepass") + item.value


def parse(data: bytes) -> Entry:
    head, _, value = data.partition(b"\n")
    position, expires, start, id, source = _text(head).split("|", 4)
    return Entry(int(position), value, id, source, start == "S", int(expires) / 1000)


def grant(row: Sequence[Any]) -> Grant | None:
    if not row:
        return None
    key, token, starts, deliveries, state, progress, more, *entries = row
    return Grant(
        _text(key),
        int(token),
        starts == 1,
        deliveries,
        tuple(map(parse, entries)),
        state,
        progress,
        more == 1,
    )


def key_state(key: str, now: int, row: Sequence[Any]) -> KeyState:
    found = dict(zip(FIELDS, map(bytes, row[: len(FIELDS)]), strict=True))
    length, head, lease, line, back_off, sticky = row[len(FIELDS) :]
    where = found["w"]
    status: Status = "idle"
    until = None
    if found["t"]:
        status, until, is_sound = "leased", lease, lease != b""
    elif where == b"!":
        status, until, is_sound = until_a_moment(_int(found["n"])), back_off, back_off != b""
    elif where == b"|" or found["p"]:
        status, is_sound = "paused", where == b"|" or length == 0
    elif where:
        status, is_sound = "ready", line != b"" and (where == b"*" or sticky != b"")
    else:
        opens = found["z"] != b"" or _int(found["g"]) > _int(found["h"])
        is_sound = length == 0 or not opens
        status = "waiting for a start" if length else "idle"
    return KeyState(
        key=key,
        status=status,
        waiting=length,
        reason=_text(found["p"]),
        holder=_text(found["o"]),
        since=_int(found["s"]) / 1000 if found["s"] else None,
        until=float(until) / 1000 if until else None,
        token=_int(found["t"]),
        deliveries=_int(found["n"]),
        error=_text(found["e"]),
        acknowledged=_int(found["h"]),
        head=parse(head) if head else None,
        state=found["v"],
        progress=found["r"],
        session=_text(found["z"]),
        accepted=_text(found["x"]),
        stranded=not is_sound,
    )


def dead_letter(field: bytes, data: bytes) -> DeadLetter:
    key, _, _ = field.rpartition(b"\n")
    at, deliveries, length, rest = data.split(b"|", 3)
    end = int(length)
    return DeadLetter(
        _text(key), parse(rest[end:]), _text(rest[:end]), int(deliveries), int(at) / 1000
    )


def scheduled_key(data: bytes) -> tuple[str, bytes]:
    """The key and the value of a scheduled event."""
    length, _, rest = data.split(b"|", 2)
    key, tail = rest[: int(length)], rest[int(length) :]
    return _text(key), tail.partition(b"\n")[2]


def _int(data: bytes) -> int:
    return int(data or 0)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
