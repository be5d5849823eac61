"""`python -m tests.faults.lineage_work FOLDER [VARIANT]`: a life of the proxy's buffer, in one go.

Events are written in groups and partly sent, partitions are rotated and deleted. Each promise is
printed when it is given: `ack NUMBER EVENT` when an event is safe, `sent NUMBER` before its
checkpoint moves. Variants are broken on purpose: a suite has to see them.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

from singerlake.lineage.buffer import Buffer, Limits
from singerlake.lineage.buffer.disk import database
from singerlake.lineage.buffer.disk.dead import Done, Refusal
from singerlake.lineage.buffer.disk.state import State

DESTINATION = "backend"
ROUNDS = 6
GROUP = 4


def event(number: int) -> bytes:
    return b'{"number": %d, "rest": "%s"}' % (number, bytes([97 + number % 26]) * 1500)


def main(folder: Path, variant: str) -> None:
    {"": lambda: None, "unsynced": _unsynced, "forgetful": _forgetful}[variant]()
    buffer = Buffer(folder, [DESTINATION], Limits(partition_bytes=20_000, free_bytes=0))
    made = 0
    reader = buffer.reader()
    for turn in range(ROUNDS):
        events = [event(made + number) for number in range(GROUP)]
        for sequence in buffer.put(events):
            print(f"ack {sequence} {made}", flush=True)
            made += 1
        if turn % 2:
            buffer._writer.rotate()
        at = buffer.checkpoint(DESTINATION)
        found = reader.after(at, GROUP - 1)
        for one in found:
            print(f"sent {one.sequence}", flush=True)
        refused = [(found[-1], Refusal(422, "refused"))] if turn % 3 == 2 else []
        done = Done(at + 1, found[-1].sequence, len(found) - len(refused), refused)
        buffer.advance(DESTINATION, done)
        buffer.keep([])
    buffer.close()


def _unsynced() -> None:
    """Commits are not synced."""
    connect = database.connect

    def unsynced(path: Path, create: bool = False) -> sqlite3.Connection:
        connection = connect(path, create)
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    database.connect = unsynced


def _forgetful() -> None:
    """A partition is deleted before the checkpoint that says that it was sent is synced."""
    change = State.change
    State.change = lambda self, durable=False: change(self)  # type: ignore[method-assign]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
