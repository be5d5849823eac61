"""What a lock file holds: who has the lock, since when, and a sign of life."""

from __future__ import annotations

from datetime import datetime

import msgspec

from singerlake.errors import CorruptDocument


class LockRecord(msgspec.Struct, frozen=True, rename={"writer_id": "writer-id"}):
    """`refreshed` has microseconds, so that every refresh changes the file's bytes."""

    writer_id: str
    acquired: datetime
    refreshed: datetime


_records = msgspec.json.Decoder(LockRecord)


def encode(record: LockRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def decode(data: bytes, where: str) -> LockRecord:
    try:
        return _records.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptDocument(
            f"{where}: expected a lock record, found {error}; `singerlake check --fix` removes it "
            "once it is stale"
        ) from error
