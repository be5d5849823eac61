"""Real S3 servers for tests, from packages: no account, no network, nothing to install by hand.

SeaweedFS keeps its promises under contention: use it for races, crashes and locks. moto answers
conditional puts rightly but not atomically: use it where one writer at a time is enough.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

HOST = "127.0.0.1"
REGION = "us-east-1"
KEY, SECRET = "singerlake-test-key", "singerlake-test-secret"
READY_WITHIN_SECONDS = 120
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class S3Server:
    """Where a server is and how to get in. Pickles, so that other processes can use it too."""

    endpoint: str
    key: str = KEY
    secret: str = SECRET
    log: str = ""

    def requests(self, bucket: str) -> list[str]:
        """What moto was asked for in a bucket, by any process: methods and keys, in order."""
        found = re.findall(rf'"(\w+) /{bucket}/([^ ?]*)', Path(self.log).read_text())
        return [f"{method} {unquote(key)}" for method, key in found]

    def storage_options(self) -> dict[str, Any]:
        """What s3fs needs to reach this server."""
        return {
            "key": self.key,
            "secret": self.secret,
            "client_kwargs": {"endpoint_url": self.endpoint, "region_name": REGION},
        }

    def client(self, **config: Any) -> Any:
        """A boto3 client, to look at the store without the code under test."""
        # A session of our own: boto3's default one is shared, and not safe between threads.
        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
            config=Config(**config),
        )

    def new_bucket(self) -> str:
        """Create an empty bucket that no other test knows, and return its name."""
        name = f"test-{uuid.uuid4().hex}"
        _shared_client(self).create_bucket(Bucket=name)
        return name


@functools.cache
def _shared_client(server: S3Server) -> Any:
    """One for all buckets, since a client takes a tenth of a second to make."""
    return server.client()


@dataclass
class Service:
    """A server that can be taken away, and that comes back with the same address and data."""

    server: S3Server
    process: subprocess.Popen[bytes]
    start: Callable[[], subprocess.Popen[bytes]]

    def pause(self) -> None:
        """Connections are taken, and nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Connections are refused."""
        _stop(self.process)

    def restart(self) -> None:
        """Start it again after a `kill`, and wait until it works."""
        self.process = self.start()
        if not _is_ready(self.process, self.server):
            raise RuntimeError(f"{self.process.args!r} did not start again")


@contextmanager
def run_seaweedfs() -> Iterator[S3Server]:
    """SeaweedFS: master, volume server, filer and S3 gateway in one process."""
    with run_seaweedfs_service() as service:
        yield service.server


@contextmanager
def run_seaweedfs_service() -> Iterator[Service]:
    """The same, for tests that take it away."""
    weed = shutil.which("weed", path=sysconfig.get_path("scripts")) or "weed"
    # Every bucket takes volumes of its own: one small one each, not seven of 30 GB.
    environment = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}
    grpc_ports: list[int] = []

    def command(folder: Path, port: int) -> list[str]:
        master, volume, filer, *grpc = free_ports(7)
        master_grpc, volume_grpc, filer_grpc, s3_grpc = grpc
        grpc_ports.extend(grpc)
        identity = {
            "name": "test",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        config = folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}))
        return [
            weed,
            "-logtostderr=true",
            "server",
            f"-dir={folder}",
            f"-ip={HOST}",
            f"-ip.bind={HOST}",
            f"-master.port={master}",
            f"-master.port.grpc={master_grpc}",
            "-master.electionTimeout=1s",
            "-master.telemetry=false",
            "-master.volumeSizeLimitMB=64",
            f"-volume.port={volume}",
            f"-volume.port.grpc={volume_grpc}",
            "-volume.max=1000",
            "-volume.preStopSeconds=0",
            "-filer",
            f"-filer.port={filer}",
            f"-filer.port.grpc={filer_grpc}",
            f"-filer.localSocket={folder / 'filer.sock'}",
            "-s3",
            f"-s3.config={config}",
            f"-s3.ip.bind={HOST}",
            f"-s3.port={port}",
            f"-s3.port.grpc={s3_grpc}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.localSocket={folder / 's3.sock'}",
        ]

    try:
        with _run(command, environment) as service:
            yield service
    finally:
        # The server puts these where it likes, and no option says otherwise.
        for port in grpc_ports:
            for left in Path("/tmp").glob(f"seaweedfs-*-grpc-{port}.sock"):
                left.unlink(missing_ok=True)


@contextmanager
def run_moto() -> Iterator[S3Server]:
    """moto's server, in a process of its own: importing moto would patch boto in the test's."""

    def command(folder: Path, port: int) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)]

    with _run(command, {}) as service:
        yield service.server


@contextmanager
def run_ministack(program: Path) -> Iterator[S3Server]:
    """ministack's server, for notifications as another author understands them: its keys keep
    their slashes, and an upload in parts is one event."""

    def command(folder: Path, port: int) -> list[str]:
        return ["env", f"BIND_HOST={HOST}", f"GATEWAY_PORT={port}", str(program)]

    with _run(command, {}) as service:
        yield service.server


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on at this moment, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@contextmanager
def _run(
    command: Callable[[Path, int], list[str]], environment: dict[str, str]
) -> Iterator[Service]:
    # Not pytest's tmp_path: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="s3-", ignore_cleanup_errors=True) as folder:
        service = _start(command, environment, Path(folder))
        try:
            yield service
        finally:
            _stop(service.process)


def _start(
    command: Callable[[Path, int], list[str]], environment: dict[str, str], folder: Path
) -> Service:
    log = folder / "server.log"
    # A free port may be taken by another process before the server binds it: then try others.
    for attempt in range(3):
        data = folder / str(attempt)
        data.mkdir()
        (port,) = free_ports(1)
        start = partial(_popen, command(data, port), environment, data, log)
        service = Service(S3Server(f"http://{HOST}:{port}", log=str(log)), start(), start)
        try:
            if _is_ready(service.process, service.server):
                return service
        except BaseException:
            _stop(service.process)
            raise
        _stop(service.process)
    tail = log.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"{service.process.args!r} did not start; its log ends with:\n{tail}")


def _popen(
    command: list[str], environment: dict[str, str], folder: Path, log: Path
) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the tests; we stop the server after them.
            preexec_fn=_die_with_parent,
        )


def _is_ready(process: subprocess.Popen[bytes], server: S3Server) -> bool:
    """Wait until an object can be written: the gateway answers before its volumes are there."""
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    client = server.client(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 1})
    while process.poll() is None and time.monotonic() < deadline:
        try:
            bucket = f"ready-{uuid.uuid4().hex}"
            client.create_bucket(Bucket=bucket)
            client.put_object(Bucket=bucket, Key="ready", Body=b"ready")
        except (BotoCoreError, ClientError):
            time.sleep(0.1)
        else:
            return process.poll() is None
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    # Its data goes with it, so nothing is gained by the 15 s that a gentle stop takes.
    process.kill()
    process.wait()


def _die_with_parent() -> None:
    # A killed test run cleans nothing up, so let the kernel do it, where it can.
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
