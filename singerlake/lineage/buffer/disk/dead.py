"""Dead letters: events that a destination refused for good, or that somebody skipped."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isal import isal_zlib

from singerlake.lineage.buffer.disk.event import LEVEL, Stored
from singerlake.lineage.buffer.disk.state import State, count

SKIPPED = "skipped by hand"


@dataclass(frozen=True)
class Refusal:
    """Why an event goes to the dead letters."""

    status: int | None
    reason: str


class Done(NamedTuple):
    """Events that a destination is done with, from the first number to the last."""

    first: int
    last: int
    sent: int
    refused: Sequence[tuple[Stored, Refusal]] = ()


class Letter(NamedTuple):
    """`again` says how often it was asked for once more. `died` is in milliseconds since 1970."""

    destination: str
    sequence: int
    died: int
    status: int | None
    reason: str
    again: int
    event: bytes


def bury(
    connection: sqlite3.Connection,
    destination: str,
    event: Stored,
    why: Refusal,
    now: int,
) -> None:
    """In the transaction that moves the checkpoint past the event."""
    deflated = isal_zlib.compress(event.event, LEVEL)
    connection.execute(
        "INSERT OR REPLACE INTO dead VALUES(?,?,?,?,?,?,0)",
        (event.sequence, destination, now, why.status, why.reason, deflated),
    )
    connection.execute(
        "DELETE FROM skips WHERE destination=? AND sequence=?", (destination, event.sequence)
    )
    count(connection, destination, {"dead": 1})


def letters(
    state: State, destination: str | None = None, again: bool = False, at_most: int = 1000
) -> list[Letter]:
    """In order of their numbers."""
    rows = state.rows(
        "SELECT destination, sequence, died, status, reason, again, event FROM dead "
        "WHERE (?1 IS NULL OR destination = ?1) AND again >= ?2 "
        "ORDER BY destination, sequence LIMIT ?3",
        destination,
        again,
        at_most,
    )
    return [_letter(*row) for row in rows]


def _letter(*row: object) -> Letter:
    destination, sequence, died, status, reason, again, event = row
    return Letter(
        str(destination),
        int(str(sequence)),
        int(str(died)),
        None if status is None else int(str(status)),
        str(reason),
        int(str(again)),
        isal_zlib.decompress(event),
    )


def revive(state: State, destination: str | None, sequences: Sequence[int] | None) -> int:
    """Ask for them to be sent again: all of them, or these. Returns how many."""
    chosen = "" if sequences is None else f" AND sequence IN ({','.join(map(str, sequences))})"
    with state.change(durable=True) as connection:
        return connection.execute(
            f"UPDATE dead SET again=again+1 WHERE (?1 IS NULL OR destination=?1){chosen}",
            (destination,),
        ).rowcount


def forget(state: State, letter: Letter) -> None:
    """It was sent after all."""
    with state.change() as connection:
        connection.execute(
            "DELETE FROM dead WHERE destination=? AND sequence=?",
            (letter.destination, letter.sequence),
        )
        count(connection, letter.destination, {"revived": 1})


def keep_dead(state: State, letter: Letter, why: Refusal) -> None:
    """It was refused again; whoever has asked for it since then is not forgotten."""
    with state.change() as connection:
        connection.execute(
            "UPDATE dead SET again = again - ?, status=?, reason=? "
            "WHERE destination=? AND sequence=?",
            (letter.again, why.status, why.reason, letter.destination, letter.sequence),
        )


def trim(state: State, at_most_bytes: int) -> int:
    """Drop the oldest where they take up more than this; counted. Returns how many."""
    ((size,),) = state.rows("SELECT coalesce(sum(length(event)), 0) FROM dead")
    dropped = 0
    if int(str(size)) <= at_most_bytes:
        return 0
    excess = int(str(size)) - at_most_bytes
    oldest = state.rows(
        "SELECT destination, sequence, length(event) FROM dead ORDER BY died, sequence"
    )
    with state.change(durable=True) as connection:
        for destination, sequence, length in oldest:
            if excess <= 0:
                break
            connection.execute(
                "DELETE FROM dead WHERE destination=? AND sequence=?", (destination, sequence)
            )
            count(connection, str(destination), {"dead_dropped": 1})
            excess -= int(str(length))
            dropped += 1
    return dropped


def skip(state: State, destination: str, sequence: int) -> None:
    """Ask for an event to go to the dead letters unsent, when its turn comes."""
    with state.change(durable=True) as connection:
        connection.execute("INSERT OR REPLACE INTO skips VALUES(?,?)", (destination, sequence))


def skipped(state: State, destination: str) -> set[int]:
    rows = state.rows("SELECT sequence FROM skips WHERE destination=?", destination)
    return {int(str(sequence)) for (sequence,) in rows}
