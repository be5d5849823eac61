"""One event sent once, to a file on a disk that is full for a while."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from singerlake.errors import NoAnswer
from singerlake.lineage.emitter.destination import Destination
from singerlake.lineage.emitter.sender import open_sender


def test_an_event_that_was_written_in_part_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write, room = tmp_path / "events.jsonl", os.write, [9, 0]

    def short(descriptor: int, data: bytes) -> int:
        return write(descriptor, data[: room.pop(0)] if room else data)

    send = open_sender(Destination(file=str(path)))
    send(b'{"a": 1}')
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", short)
        for _ in range(2):
            with pytest.raises(NoAnswer, match="a part of an event"):
                send(b'{"number": 2}')
        send(b'{"number": 2}')
    send(b'{"c": 3}')
    assert path.read_bytes().splitlines() == [
        b'{"a": 1}',
        b'{"number"',
        b'{"number": 2}',
        b'{"c": 3}',
    ]
