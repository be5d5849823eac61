"""The tap's standard output, in bytes: whole blocks pass without being decoded."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from singer_sdk.io_base import SingerWriter
from singer_sdk.singerlib import Message


class WholeLines(SingerWriter):
    """Writes the SDK's messages, none of which a signal can cut in two."""

    def write_message(self, message: Message) -> None:
        with _signals_held():
            super().write_message(message)


def write(blocks: Iterable[bytes]) -> None:
    """Write blocks of whole lines, behind whatever text was written before.

    Only the very last line may lack its line feed, and is given one.
    """
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    for block in map(_ended, blocks):
        with _signals_held():
            if buffer is None:
                sys.stdout.write(block.decode("utf-8"))
            else:
                buffer.write(block)
    if buffer is not None:
        buffer.flush()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Have a signal that would end the run wait until the line is written to its end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ended(block: bytes) -> bytes:
    return block if block.endswith(b"\n") else block + b"\n"
