"""A proxy in front of a Redis server that cuts answers to what was applied."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

HOST = "127.0.0.1"


@dataclass
class Cuts:
    """`one_in` answers is cut, by chance from a seed."""

    port: int
    one_in: int
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    count: int = 0

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"


@contextmanager
def cutting(target: int, one_in: int = 40) -> Iterator[Cuts]:
    listening = socket.create_server((HOST, 0))
    cuts = Cuts(listening.getsockname()[1], one_in)

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
                server = socket.create_connection((HOST, target))
            except OSError:
                if listening.fileno() < 0:
                    return
                client.close()
                continue
            threading.Thread(target=pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, True), daemon=True).start()

    def pump(source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if answers and cuts.chance.randrange(cuts.one_in) == 0:
                    cuts.count += 1
                    break
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield cuts
    finally:
        listening.close()
